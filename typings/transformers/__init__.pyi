# What src takes from transformers by its own name. Without this pyright reads all of transformers' 500 models.
from transformers.masking_utils import AttentionMaskInterface as AttentionMaskInterface
from transformers.modeling_utils import AttentionInterface as AttentionInterface
from transformers.modeling_utils import PreTrainedModel as PreTrainedModel
from transformers.models.bert.modeling_bert import BertModel as BertModel
from transformers.models.bert.tokenization_bert import BertTokenizer as BertTokenizer
from transformers.models.gpt2.modeling_gpt2 import GPT2Model as GPT2Model
from transformers.models.gpt2.tokenization_gpt2 import GPT2Tokenizer as GPT2Tokenizer
from transformers.models.roberta.modeling_roberta import RobertaModel as RobertaModel
from transformers.models.roberta.tokenization_roberta import RobertaTokenizer as RobertaTokenizer
from transformers.tokenization_utils_base import PreTrainedTokenizerBase as PreTrainedTokenizerBase

__version__: str
