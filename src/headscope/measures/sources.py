"""Where measures come from: BibTeX entries by key, for `Measure.cite`."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from headscope.errors import InputError

BIBTEX: Mapping[str, str] = {
    "clark2019": """@inproceedings{clark2019,
  title = {What Does {BERT} Look at? An Analysis of {BERT}'s Attention},
  author = {Clark, Kevin and Khandelwal, Urvashi and Levy, Omer and Manning, Christopher D.},
  booktitle = {Proceedings of the 2019 ACL Workshop BlackboxNLP: Analyzing and Interpreting Neural Networks for NLP},
  pages = {276--286},
  year = {2019},
  publisher = {Association for Computational Linguistics},
  doi = {10.18653/v1/W19-4828}
}""",
    "vig2018patterns": """@misc{vig2018patterns,
  title = {Deconstructing {BERT}: Distilling 6 Patterns from 100 Million Parameters},
  author = {Vig, Jesse},
  year = {2018},
  howpublished = {Towards Data Science},
  url = {https://towardsdatascience.com/deconstructing-bert-distilling-6-patterns-from-100-million-parameters-b49113672f77}
}""",
    "vig2019inner": """@misc{vig2019inner,
  title = {Deconstructing {BERT}, Part 2: Visualizing the Inner Workings of Attention},
  author = {Vig, Jesse},
  year = {2019},
  howpublished = {Towards Data Science},
  url = {https://towardsdatascience.com/deconstructing-bert-part-2-visualizing-the-inner-workings-of-attention-60a16d86b5c1}
}""",
    "vig2019demo": """@inproceedings{vig2019demo,
  title = {A Multiscale Visualization of Attention in the Transformer Model},
  author = {Vig, Jesse},
  booktitle = {Proceedings of the 57th Annual Meeting of the Association for Computational Linguistics:
    System Demonstrations},
  pages = {37--42},
  year = {2019},
  publisher = {Association for Computational Linguistics},
  doi = {10.18653/v1/P19-3007}
}""",
    "vig2019structure": """@inproceedings{vig2019structure,
  title = {Analyzing the Structure of Attention in a Transformer Language Model},
  author = {Vig, Jesse and Belinkov, Yonatan},
  booktitle = {Proceedings of the 2019 ACL Workshop BlackboxNLP: Analyzing and Interpreting Neural Networks for NLP},
  pages = {63--76},
  year = {2019},
  publisher = {Association for Computational Linguistics},
  doi = {10.18653/v1/W19-4808}
}""",
    "voita2019": """@inproceedings{voita2019,
  title = {Analyzing Multi-Head Self-Attention: Specialized Heads Do the Heavy Lifting, the Rest Can Be Pruned},
  author = {Voita, Elena and Talbot, David and Moiseev, Fedor and Sennrich, Rico and Titov, Ivan},
  booktitle = {Proceedings of the 57th Annual Meeting of the Association for Computational Linguistics},
  pages = {5797--5808},
  year = {2019},
  publisher = {Association for Computational Linguistics},
  doi = {10.18653/v1/P19-1580}
}""",
    "michel2019": """@inproceedings{michel2019,
  title = {Are Sixteen Heads Really Better than One?},
  author = {Michel, Paul and Levy, Omer and Neubig, Graham},
  booktitle = {Advances in Neural Information Processing Systems},
  volume = {32},
  year = {2019}
}""",
    "kobayashi2020": """@inproceedings{kobayashi2020,
  title = {Attention is Not Only a Weight: Analyzing Transformers with Vector Norms},
  author = {Kobayashi, Goro and Kuribayashi, Tatsuki and Yokoi, Sho and Inui, Kentaro},
  booktitle = {Proceedings of the 2020 Conference on Empirical Methods in Natural Language Processing (EMNLP)},
  pages = {7057--7075},
  year = {2020},
  publisher = {Association for Computational Linguistics},
  doi = {10.18653/v1/2020.emnlp-main.574}
}""",
    "abnar2020": """@inproceedings{abnar2020,
  title = {Quantifying Attention Flow in Transformers},
  author = {Abnar, Samira and Zuidema, Willem},
  booktitle = {Proceedings of the 58th Annual Meeting of the Association for Computational Linguistics},
  pages = {4190--4197},
  year = {2020},
  publisher = {Association for Computational Linguistics},
  doi = {10.18653/v1/2020.acl-main.385}
}""",
    "chefer2021": """@inproceedings{chefer2021,
  title = {Transformer Interpretability Beyond Attention Visualization},
  author = {Chefer, Hila and Gur, Shir and Wolf, Lior},
  booktitle = {Proceedings of the IEEE/CVF Conference on Computer Vision and Pattern Recognition (CVPR)},
  pages = {782--791},
  year = {2021}
}""",
    "chefer2021generic": """@inproceedings{chefer2021generic,
  title = {Generic Attention-model Explainability for Interpreting Bi-Modal and Encoder-Decoder Transformers},
  author = {Chefer, Hila and Gur, Shir and Wolf, Lior},
  booktitle = {Proceedings of the IEEE/CVF International Conference on Computer Vision (ICCV)},
  pages = {397--406},
  year = {2021}
}""",
    "elhage2021": """@article{elhage2021,
  title = {A Mathematical Framework for Transformer Circuits},
  author = {Elhage, Nelson and Nanda, Neel and Olsson, Catherine and Henighan, Tom and Joseph, Nicholas
    and Mann, Ben and Askell, Amanda and Bai, Yuntao and Chen, Anna and Conerly, Tom and others},
  journal = {Transformer Circuits Thread},
  year = {2021},
  url = {https://transformer-circuits.pub/2021/framework/index.html}
}""",
    "olsson2022": """@article{olsson2022,
  title = {In-context Learning and Induction Heads},
  author = {Olsson, Catherine and Elhage, Nelson and Nanda, Neel and Joseph, Nicholas and DasSarma, Nova
    and Henighan, Tom and Mann, Ben and Askell, Amanda and Bai, Yuntao and Chen, Anna and others},
  journal = {Transformer Circuits Thread},
  year = {2022},
  url = {https://transformer-circuits.pub/2022/in-context-learning-and-induction-heads/index.html}
}""",
    "xiao2023": """@inproceedings{xiao2023,
  title = {Efficient Streaming Language Models with Attention Sinks},
  author = {Xiao, Guangxuan and Tian, Yuandong and Chen, Beidi and Han, Song and Lewis, Mike},
  booktitle = {The Twelfth International Conference on Learning Representations},
  year = {2024},
  eprint = {2309.17453},
  archiveprefix = {arXiv}
}""",
    "gu2024": """@inproceedings{gu2024,
  title = {When Attention Sink Emerges in Language Models: An Empirical View},
  author = {Gu, Xiangming and Pang, Tianyu and Du, Chao and Liu, Qian and Zhang, Fengzhuo and Du, Cunxiao
    and Wang, Ye and Lin, Min},
  booktitle = {The Thirteenth International Conference on Learning Representations},
  year = {2025},
  eprint = {2410.10781},
  archiveprefix = {arXiv}
}""",
    "benjamini1995": """@article{benjamini1995,
  title = {Controlling the False Discovery Rate: A Practical and Powerful Approach to Multiple Testing},
  author = {Benjamini, Yoav and Hochberg, Yosef},
  journal = {Journal of the Royal Statistical Society: Series B (Methodological)},
  volume = {57},
  number = {1},
  pages = {289--300},
  year = {1995}
}""",
}
"""BibTeX entries. A key is the first author and the year in which the work first appeared."""


def bibtex(keys: Iterable[str]) -> str:
    """The entries of some keys, in their order, a blank line between them; empty for none.

    Raises `InputError` for a key that is not in `BIBTEX`.
    """
    wanted = list(dict.fromkeys(keys))
    for key in wanted:
        if key not in BIBTEX:
            raise InputError(f"sources: expected one of {', '.join(BIBTEX)}, found {key!r}")
    return "\n\n".join(BIBTEX[key] for key in wanted)
