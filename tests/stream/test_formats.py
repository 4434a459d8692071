"""Checkpoints and parts of before still resume and merge: files that an earlier version wrote, kept here as text."""

from __future__ import annotations

import base64
import zlib
from collections.abc import Sequence
from pathlib import Path

import h5py
import numpy as np
import pytest

from headscope.analyses.distance.statistics import PairDocuments, PairSums
from headscope.heads import Head
from headscope.measures.sums import Documents, Ratios, Sums
from headscope.stream.checkpoint import Folder
from headscope.stream.outcome import Outcome
from headscope.stream.parts import merge_parts
from headscope.stream.safefile import decode, encode
from headscope.tokens import Tokens

HEADS = [Head(0, 0), Head(0, 1), Head(2, 0)]
OPEN = ([1], [1, 2], [2])  # documents that go on, of blocks 0, 1 and 2

MEASURED = (
    "c-rlkYitx%6vvlZsDczsL?R;Dtkp;zVdn0gR{?JWh{5<MAU^1pb{==yrR~nLGex$gP)tY+#DHjsVikc11fmim3Wle~(g;XjNK8R2"
    "1zG_SdD-yNJG<L~+THB~{h;=K*qM9I{hc#&&*c91Ea~HLR3$n>qr{b+U5HIdl}sr++m%-0Qn8@~ynfTG`&?<R5|2wR(3O0TE6qt$"
    "PLE6T`f_o=AMpB2%SH^e$7MOZD)yOPGiX@}mGAYb;RSjDxhb`lDBgflRA`uzPr*iLUC69S-h!e)*piuLS#Y6097vN23~X5plVr>_"
    "BEbu>WY~nq<qzOlUcJZ&KZt?-9#<%gq8Is0tVUMh*;1ju07q7tdOr3=?v(<`Fq|RInyNZ^O7b#BB#a!4L}+yodugeQav6CNU^%i&"
    "kbykM@;qc2MTVNF0JjEJSyLrW;~|YDO_c@Ai;AFfg1`eF)3PW^EGqzlVN7CadZ17;Nvu39sfMEa@dzakEBSt%?DR;6Y+(3xj8Kit"
    "pdXX96FC@u3~QDNvnW@nj=H89*jkxMQ*Mw&&;lul194E$9(4l>3KmNq#TT1o+LKVASk5AqJgd^TvJ={7rK03zIZ6oSwaXAEKzm#e"
    "D29d>@9PprAc_HW2<##WXo_)jty`5%$EFzyP*Go+@D!kFI|kE1jP?--O@VN+LlHpS2vK-aZxAlH5w~JdVN!B86H0FQx=a(2a`T}L"
    "G`gOfkQ9Vu>q?zuB!rJON91^Ow9b1u+K#{47mvC)ItN#yL#KXoJb2~^azq{HP-o{qmY*41ub)QF0}nJg!Af)`*pl<&D@_r9%RIe)"
    "Z0_(Cr_q4T&XP4#8qoNMdsh~ZsI~oNr^+wY{ZWo8r}xT9s@{o?jB`%iU33B+uFlv~vH5swp7hqd8N$`zb*T=SpF8J{9KRb?z4!j)"
    "k}Gf9@f>kS%e>p=hi&OwGwJuOXx-AWWl5`+qEDZ`@52T2M|GM%M>J_yOik+OaJ=OxmNkjx$q&t`icDj`2{J1)JeEYDx>bf{8A*bI"
    "451sdGG-K>V|Y<!G0$)^WZg1}6<YzB=nBaEmlQCb<aI)X+|fh`z;22VfE1)V7NIC4q<cgt&N&)WggDq45sIY)93+1@gwBXi^s^ig"
    "9pUKii4XxP82-|_Awtml)WS9Ih6oXoVp$Ltp;#IeOM4O=|IF~D=sOPO{Dh{a&OQWYoJDufN-U`{zOv6`&xHZa{Vvs_p&z_jy=QPe"
    "+P^*Tk%e<k+5R<?KTDo6<RF?hC;8xaX+NV0XOku_%Dt&k>HV&!KlSKtM7{p9clo{_(7;W`*qXlI+J3bBg|a7?H6X{nmnu!69G%=$"
    "zhKYMW_01ev?;TN1|+X?R$NPHMky`h-r~<!qbC}V&Ya%=D7v`4@d}WCZKrW<=l1nqJC?-l!)!$pc~O%%S!Fa)6nRbrn&<|cCTSc)"
    "ivkNcH_dAp3V?xbiQ^ztC7P#c(r$>df>osx%|$%T1JN}P{7<{So<6Ln59{f}{`Nks^}6o)K~PAkKqKCmoV0dY725U9a|4+>YSBIY"
    "@~)OIszPnGpyTWJ%h{Ur9aZS?jf!`Qht#6WV}5z)q2!wy=lNoNVjtLuKI&bZIz6KaT^lqnkkY@>_P1<ZJ?#E>t5I;~gv%T6I)Nrt"
    "4qtrljRw^G%*wJc?APryY2kT2S=_i6C2Se=*s&Q0(XqLs15L?$?RY!Ocg!taU5Apgia%~l*^lN319O*c-evo5mrpgNZK;>mB78h!"
    "Q|5+k=xp!0`HwfOvHd5<ZFn|)#h0ii@lGab(Ry?v`L$0(<4xQDC*&2l(E"
)
"""Three blocks of two measures, in the layers 0 and 2, by document."""

COMPARED = (
    "c-rljUx?g99LLu^ui_v2P_4q1mNh6An%eo3Op;Sbpsm^pS1W?Z?sc6^X70l6CVQJ4dLG*+t=KAv);_2&B9>A`U-}~WqJ0sqP+F8e"
    "h~ioG)CXHV>Uq}cB-uUG?%v(5FLHDs%;cBfXXf{tWWM>GxjL7d>&vBWN-3ACJf<FvX}PQnPAMLbSlzG1ei$f&%2Y{lD<K;zDT4)|"
    "7D|fngArb@)%_q&Y|;QqO7g(>co6&XWMY-nm>+nVLs*f6M&iQ!I-96QF%1}xQoqzJs9%|=XO`k{V&T<VHj$u}h$ogPmMe}#&B<9f"
    "5yU*5zbL&Qr`1{|;S<j|9OFTATn`^>j=WH=ECZCc!;OZbDk7{`X)H4w<<yH<SmSrHQO?F{q0DRxlpfJ2MLLll2C@Xf*o8<it_$P|"
    "-Ni0-fuRADV#6}2=OP45Pg-=!bc{?Fa8Dq_2o^#npG6#{`x{TzxSVwd(XvI7yP`I%D(O22g@}0KSp+IZ!xBvc>`Y=6UCv^pnjnE?"
    "UO{ITUQU`oHO+)v*s;Ik_xuBILz}8a5<2LHvWN<SmSSCT5>g>Vtvt)1GYnPShKERnm@M#c5xxzLW!PF8_9A=KZdpx+P0~${g6>FS"
    "s?bUkj=EgaLMnnX)kYz0`Rw@TRyX@q&Hk#~;;r>O-@%@>b9UC><Yc|&TsM0p$9Ao9_J2-yK61@z`w%-m^X1+BPRs9suWsD4bN?5%"
    "K2*4`Z~J+B@~5LGpZliYIaN9FL~wJT^8wvBu<g)V=ixU$-FAM@CTGLG#+uh||HQt{fANizum5ac|IvnH<G-$VW~8>wbkw$mBQ11|"
    "2;HE9BhKZCr5Z<!de9ICA|}(2VY-?tplM>)V1|Iu)m;w|mjfnD3YH}xos|@}S5o+YSJFf}mmy}jotPo5S207HYM`aXtPN?P6)9$@"
    "qnHt}95F-flm)2JAU%kgK~w}l4`L=M6=h#VmtrO<`8k;_G3%sdy=qu~34XRb?G8P7t#h2r4ITX9H~Zew*WZ`%1^Y=Of8dwti}qWW"
    "R=@i4_`LnnquZ<R?f&jxTG;CUdppx(9f#Vh4_fJU9MrHzxGP)?iIrR)#yYULNi7dhU2_fjFK~5>y8s!6CVv1}a80u`!5Aj|N*#Bl"
    "j$83{Tz-i<jy?b3(c-DI_OqJ{2e!OBZ+jaXPp$iQcERtDj}O0a`ssQ5mJ>I;e_?voUNiFc?j6tMoxS#vyUrdgIP3r1HGXW}fb&^y"
    ";P5M(?r<twe|%`}Qop0zdVl5O*5B=Yo8LLNcXF-s7uZ}UWd"
)
"""Three blocks of three heads."""


def blocks(text: str) -> list[bytes]:
    """The bytes of the files: each after its length."""
    data, files = zlib.decompress(base64.b85decode(text)), list[bytes]()
    while data:
        size = int.from_bytes(data[:4], "little")
        files.append(data[4 : 4 + size])
        data = data[4 + size :]
    return files


def measured(block: int) -> Sums:
    """What was measured, gathered today."""
    draw, documents = np.random.default_rng(block), Documents(["previous", "sep"], "document")
    tokens = Tokens(["a", "b"], classes={"sep": np.array([False, True])})
    for document in (block, block + 1):
        sums = draw.random((2, 2, 2))
        sums[:, 1, 1] = np.nan
        chance, divisors = draw.random((2, 2)), np.array([2.0, float(document)])
        documents.add(document, tokens, [0, 2], sums, chance, divisors)
    return documents.close(OPEN[block])


def compared(block: int) -> PairSums:
    """What was compared, gathered today."""
    draw, documents = np.random.default_rng(block), PairDocuments()
    for document in (block, block + 1):
        sums = draw.random((3, 3))
        documents.add(document, HEADS, sums + sums.T, 5, 3, 7)
    return documents.close(OPEN[block])


def same(a: Ratios | None, b: Ratios) -> None:
    """Bit by bit, but for the order of what was counted."""
    assert a is not None
    assert a.counts == b.counts
    one, other = a.to_arrays(), b.to_arrays()
    assert one.keys() == other.keys()
    for name in one.keys() - {"counted", "counts"}:
        assert (one[name].dtype, one[name].shape) == (other[name].dtype, other[name].shape), name
        np.testing.assert_array_equal(one[name], other[name], err_msg=name)


KINDS = pytest.mark.parametrize(
    ("text", "gather", "kind"),
    [(MEASURED, measured, Sums), (COMPARED, compared, PairSums)],
    ids=["heads", "pairs"],
)


def added(parts: Sequence[Ratios]) -> Ratios:
    total = parts[0]
    for part in parts[1:]:
        total = total + part
    return total


@KINDS
def test_blocks_of_before_hold_what_is_gathered_today(text: str, gather: type, kind: type[Ratios]) -> None:
    for number, data in enumerate(blocks(text)):
        same(kind.from_arrays(decode(data, "old")[0]), gather(number))


@KINDS
def test_parts_of_before_merge(text: str, gather: type, kind: type[Ratios], tmp_path: Path) -> None:
    header = {"identity": {"kind": "old"}, "blocks": 3, "fingerprint": "f2", "about": {"what": "figures"}}
    files = blocks(text)
    for shard, numbers in (("1/2", (0, 2)), ("2/2", (1,))):
        with h5py.File(tmp_path / f"{shard[0]}.nc", "w") as file:
            group = file.create_group("blocks")
            group["header"] = np.frombuffer(encode({}, {**header, "shard": shard}), np.uint8)
            for number in numbers:
                group[f"{number:08d}"] = np.frombuffer(files[number], np.uint8)
    merged = merge_parts([tmp_path / "2.nc", tmp_path / "1.nc"], "old", kind.from_arrays)
    whole = added([gather(number) for number in range(3)])
    assert merged.about == {"what": "figures"}
    same(merged.outcome.sums, whole)
    assert merged.outcome.sums is not None
    np.testing.assert_array_equal(merged.outcome.sums.value(), whole.value())
    np.testing.assert_array_equal(merged.outcome.sums.error(), whole.error())


@KINDS
def test_a_run_of_before_goes_on(text: str, gather: type, kind: type[Ratios], tmp_path: Path) -> None:
    arrays, described = decode(blocks(text)[0], "old")
    described |= {"blocks": 1, "first": "f0", "identity": {"kind": "old", "shard": None}}
    (tmp_path / "total-00000001.safetensors").write_bytes(encode(arrays, described))
    with Folder(tmp_path, {"kind": "old"}, kind.from_arrays) as folder:
        done, outcome = folder.resume()
    assert done == 1
    rest = Outcome(gather(1)).then(Outcome(gather(2)))
    same(outcome.then(rest).sums, added([gather(0), added([gather(1), gather(2)])]))
