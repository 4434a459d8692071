"""Checkpoints and parts of before still resume and merge, or are refused: files that earlier versions wrote, as text."""

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
from headscope.stream.checkpoint import Folder, restored
from headscope.stream.outcome import Outcome
from headscope.stream.parts import merge_parts
from headscope.stream.safefile import FormatError, decode, encode
from headscope.tokens import Tokens

HEADS = [Head(0, 0), Head(0, 1), Head(2, 0)]
OPEN = ([1], [1, 2], [2], [])  # documents that go on, of blocks 0, 1, 2 and 3

OLD = (
    "c-qyIOK8+U7{^!fg&y>z2T?-6gD}`^UYoRH>H|S9zEBW%-OeVHZs=|jGFfq5>f_+Wiy+=w@d1iAPl}$zi+a<l;6W=WYN72xQBf+QUmhE+br&~+;_"
    "Tted^5lQ%>2J^dlzLgZ{}sf(O`?kD)F&_eOxTE-3^wOF)zt%H_PR+N=Y#YFP6j-QB_64iXr9%NhLW>l8I?xffr08$HM{<6hT%^QO`-HEbFGCV-~R"
    "np}J?ezU9~;*vPY`ilYzY*=~kIOrA9@yPtTjXW4#`g9Mjng9XbVwr~0MAPdxhWgF23rve{?!4}=}^jekr*wzUR_l0Q_Ta}s@W%d<<45_-2kclgl1"
    "R3hXiTyMduM$iXBG0-WIbb<88eN1EH_wJLrFy)<aNt}L+&IkZPR;g-5igR1xaw9&O#99NvEy&Of+=M}y<pl@fz`s`AXsHOUKRV`Qkh_b>W)j+=w+"
    "f0xDL3}#lxdn>|)O^Hp!q?hF^CHFk561B%pG^Y+tqj&Ik2$Op_9yLW)C50TjZ^($=InlT?t%1!x7=iPr|@XQCp9BspN=F?L7Sm1HD~h2+W8;LX!v"
    "#0S5b60(T0yz*UxrqBQZlvVj3M65%kjm|F=R1oGu1NCyys;%i3cK{mkkr_$PbS?sJ2$36h$1s3Mh+ME!(BOa=wSk=i2NX#>*X*Jqm!gcoBS{exjc"
    "ghXMTC}A5)D38ODZUr4UO!)gaD#kF7%OhZX=LLiT=nmMHK)=Di=CPJHI-RNR^d{?)-2-QI-=T-%=bOuppp<cY{nO9<$>(=coCs%=Gc={2Q%(Y(2I"
    "spX*=nBhA0Y9PZk5OS?aGW@lsSbj*D^(w=UvFX=tm^L}j~8PS^Y@%Y=!ipkL=W`1j=f5-pMKO3H0_QaXcn0w2|82-FARsYntXYW{22j|I#{?%tEw"
    "8dAM#-&})wN0z$-aWMDVX}U7eE7qouftk1-rYZ|Z~n;5B#v%mcHgSKO5)Rz?RRcpeVN4g8oljf>-YU>AN^~7<@JRRc6_{{T|Twp===+(v@2Veo;!"
    "Z5=dba?wu{G>o;as5@4mi1x!lmEhDOWl7ra>ayZkrYX7jl"
)
"""A block of the format headscope.checkpoint/2, which had no spans."""

MEASURED = (
    "c-rk+eQ*@z9gYYF1R|X&(E53EAX8z1-FLqccq1TIY862gAtCJ7B?rk}yuDD85Cnx8gd(E_r4Xx;5*d}sFw%;H2(%_pKu7?o<ugGbqS97ACm{5Fck"
    "lL+kUQ?)V*s7o{PAS>-RIf&e*5m;^ZWg7amTc@U#F*8Td6xIr@#m*x)M}!a@+$--MV3F0dHZ@>-V__xJ$F#9>tqq6fn#z_W;-UY|548HVO)Z#dz1"
    "F<eLUQ;?)gb&}$z=l*wM7j{imEfWO4>Wx4T5W}XrV9cKD7S?)4?Q1b?~q5?Ch_%!<xrPg7yQ1RvX3o+GFj4_E|pvbT|YQA5aY@Na2U60q7YXk}dU"
    "SBXY7dkW#q>Ycz)=m(ekZXo6Q(!2jbD1o6VZfN;^%t2To>7?Pwyv!fhfdJ_Xz~WWfOTB+7x{vQ9vU>JDg}l4Mu;8sPd0p^|FwL@G+mY+-VLju(d@"
    "D^H-#ewcmai9R~c4kHA#^@tf&Bi76o481dpOfKvoTpp^3ntby^e^iDg)iN~@Y8^9;?=g02f3((?EN1xgTU<r#`@YAB}tv^+zbT<AxE>Cd9O;8qHi"
    "Krkmf3u_Ssiwh0JdDN0X)4_Y=nQY2!Efl}UV;Vsd9ik~I8!1>H+>FlTu4GCSM`LQfQfvfbP{EZ{j;444bMXR6Xu7;W30$`Gk(-f+Hz!j7|6M5|a1"
    ";Zih=xg^fdnW<22Dh~B}NRLRup6;Oj`le^6;}0ogHNkh)n@I7|!}jTm(gfwWHxnn2d-NYe&IHz(x_^>}B91pd%{913J8la%h6vi1-vQagGK<q9Ji"
    ";NlK0eAX<_VB{EhZ6TgLsNQt5qM>Fv-A|@r-53)&c7Z8<_X)A(e;!{UVN){xWo%qEOm11btjvK+{F&7EQD0XFOp{-2_+qT%hC9V0^`tkq5*cg2qD"
    "P1W3LD>z1e|1goKWro1x%7=urHu<iyz|e;W{1bSWG;B{^uUQm4GiPn6aP!Q=i37grp2|9e~uqJ|6uvI-S_#wfvz2Q9e05W*jRji;?vI_ckY9K-;m"
    "q~-uwpMvBp(eIl2xGyT9G$l773K@fjz|&+NWj4#T*4!YvciYd&@Gz);tijYUTt++Q=Yx@yf=4u+<Y85^U2zGT<YjppC`(e1TQo?8o7ygFn?`rEI<"
    "4@Pu*Yxc|suN$9zV)@K&bKiolQ<sk|xJ!qPOAq8d)V_Xjy!=(jo6}Lf`PIB!6X)phC_2x}s=^wAL93#~392Z|1_ywuYn&v}l1Ll0qVb|GYaFACIu"
    "KOV5Ez-`WFR1|pF$=8TF(TS=9vI<Gh_nT`X^w<>DJ6R9gi7jTVn!_(2N5vWaML;@mMzgs%D&S)yX#{n@N#ly6;$gLhp_EjO{(itv3>&7~6a%Zha6"
    "D-EoP~dLt&qGJw>2BPzv;LOj+RM6<kzPw{kI);p>O;!}cc|E^}eqiP^NB?>g5^%hY2Y(IDe_7yQHNs@@Iw<J+A4@j*ykF75wka};-MFJ8{ZoVb7{"
    "uvHMugqm{(Y$vw&)s5tMheL=tEYec-ie3dnBG(Of=MS~rzveqYt2oLXUaNtM?=RmyWrh_`dv+R_kD2tCwaZ*PCMa@SC0BHWAvSS;J9fSdp;lVH5`"
    "62{n2^35l@`i@rTSuezg%&bH;j?Z2J;+S#1ufz5SogI9&47jE7&VgJDeD_RQv>RPNxh)%#{w-`(KgsU71+PnGH%RNr=0U2N0fV9)bI{~&%}<KW;U"
    "hn}0z`H+LBKRMC})c-h`tmlr8e^pGa#~Xx;W7g9X@a(h*WZjT7UGj)J%c?4?@g7yz4Fd=w5IqK`O0>bM8pE@khhsRI(|Os@c}3)Th82Gzo}F#ovx"
    "DZI9o(eV`&2zWRZmaV(^K{IR6RYJdit$|_4GCg)p4Wa-0%Gv@~W+{%|~7P)KA(2>!%M49M9P5c+OAD*H157wi~8rm#jR}b32?Sb;*5g&4w0rLRaR"
    "BC%SS{&ng(ke)C7AzcX&9gBw13ybE*dE(d?sG4De8yqyjv`#FB>_{9>wHgo+>xc^es;*vXe!Lx(D>(L`4k~?Jm?cKJwaYx|tb|t+hj64o6c6~n3v"
    "-4(W{QTNw_x|#aH870D&kaAjs>4wSpWOVwf}dZibFksDiW!6WzdM+$H&1pQ-DrOApt7#_nRlS^)yUQ3-&+Syw%a|kZ(XG`er)J_zs-E}V_4g^J(E"
    "7~U3e+ug}=z=E7y!aY}QO>>&LU;+OCTV1bP{4Q(2)`j(yP?&n{hBJ+Ds%{LO;Os@JJGFyMKgeOOkV@rG_`X&X9Ui+VbuX{@F&hNftWs0x}#mSqm8"
    "xCTKhvcRGL1YKZRPBb(fNTS3FhQVqqD`69VeZ0A^C_n!i8FOm}2|06*H(<8>sm)F1&%-h3ALmr8bED128ocgF186O2unTbnSpy?bwpk)c8>Eo=Pd"
    "IHrE?2Z|0uEsk>5>SjPzlkw7YSxfxQG~;3PBVQJ)FQ;5(x*xN?zFb8X-~Z&`2PheOxt-iYj7dAMvMA(UJ&SN+OLyY>KlN2YDKW1SsAPY2r2(5h=k"
    "=1qmEDVp4*ABS_LH!Fn{Lq|zwFr$iYfl|~^xB}Iw?L}?V_Q!*gzjUXZ=OQgLK#6+0{N8B92T=ZgKTE3)63LK2}hG0S|VML3l(1B#o+lHfCY9(CnK"
    "pI#m^4=nRUa<yxeKm<x5-m;K8D!Wdks`QrxHE_?Sww?Cgu~GZ^%p}T1S+_}$nZk*?*^hr8mpi$c@{L6B6+g03X+nA=2C!2N=C5`w?DBI!9B-KP$t"
    "|3wKPcD*#Jd4+zhovNK_<TM&u(wCMjaz&L{|XMr{#-4m)m-0=kK}At|U}0SZ_>QlfegrcwaV#1$dTMFJvmNeFW(z~Zm+GFQu*Pq-%3KF+>x7;kiK"
    "DcRo`zHzwk<Yyc9z(<aMee|ia9kA^6wU<YnjpXz%Pg=fm@3wk)&#e90+(QSUw1WTaNQZiOt$t${u5E>XGdlL->5(t|`QI>%jURMap5FJcgX)E{f?"
    "->ZIoPms%>4V#)jN27`lmN9KiU5G_32+n$0@&G80d5VQF!q2c3{)Qf5CGjI!{`%=<~SO<BjI0YQ?EqajI6FsujQg(x7Mf3tM5YGY4L->-8bbZCE("
    "4L*)u*{9Nh2?LE4G0asRQ8H2WLhg7GE#lxT8ea-j_`##jE@}<@A7t?R^&)@V4lvXe5Jb1$F$ohP&y4#nhx4_18|M0I{w+_zfcHfkW@2Z^f{{#L2B"
    "Wn"
)
"""Three blocks of two measures, in the layers 0 and 2, by document; and their total, the third in a span of its own."""

COMPARED = (
    "c-rlldu$X%9LJ9$5Cp5?ArXYs3kDJvIy?KC1(RI^h=3`gCTQAn&c5i`>)mmCjh5z!e*hwAL<RmpLqb%7fX@&U5@VtSV-%AH6p7F95D^mvZ4eQ`-|"
    "lVi+Us4fb3EdM{bz3H_WPUP%=~sfzuz_u4uu{Z6!Ne3a3s=Vr>RBLG!h9<Zx1_(R0~aqr-z$tYPn`2X-_koY_mC;h{n^kLYNC%wri%M$#gUkhsW9"
    "*!VZnbT2r>$5T0IB-^kT8gzc7Oy3M<FXw0>}o~UKV)6r}vNSdQ@%lir9RAQMOZwPx2xlJ?`bn~@*LpbAgn$eWm+Tx~Z+{_Nq?svOM8jpZ?@xWpqP"
    "NY+<wy!Z_3A5RMg7<EnXncvCN~U09fiEcV18jRe$iGR$154as7&FltPusqe^)SR^v?Uqy2KAmyCz|be@H>@wH27sDz<roJ+%{%1uzoO0EXlBRL^K"
    "q~K(;B!mMMuM!Hz%#Ri@ZfZA-F|1^-aOD~4eqL=cu7QQ`%MCrGALHeh|iG)YtGNY@zN23qO1qz%^R%3^jf@2;M2gpKnyIpH|2opzxMaikF}_%m`#"
    "E5+VQ!imU}`XN$UDR8*AR)k^walO4`@|O@!l^b(&?jgRboLH4P9*KFi+lQJHdh0>V@tAZo5M5?7c>rpT7yJq2LZY;RB6<O)Ao^2?GwDR|T*AJNO("
    "<cGmr>VVMG)(f$%x~LnA7uY%SFI#)pxs(WhyqTiaE^t>+Hsvl%V2pHnLr|F+s&)8K#=4$zGx0stVfbpdB2v144aY0}Aw^qPkJ~y@y9Gp10;(O{%N"
    "8d*JNTTH7z%JD&c2klyuwwmqfwyjS(>JGX_*1%vf9U(<OH4LP7~H20kN?vA{!l->QYeaqrE57a-PlgG~5I9gw{<MUak7f;bAtjdhoa{H&+#OU*{b"
    "iDMdHtgdGyO#bwUMDbN@;_${F3uXhCu{giWlaHG5Kjz~3J$S|K@s5%gE-W*L?SwlDa$;z6j8+{vL$3=6M7X1OW2YPsvyUaEf%<-VsJtIfs0T~iN#"
    "9cf<;cj<>699so(%hW#NK~lBv7cy(Dp;T<J?+5mj<fWkN%qri@7OD9YphAO#mi3f~h+eINyw0FokCfD{G5fKVk!K@iT_cxFWk#4;9PV>6`~QYkwM"
    "`X4WBJ0nMoy8DLed*riq>rein&1pFLV?;Qktx&4g{&wWNw(~;ui<_37(>6RjyXD=5KNPT~tL<%<wQcINPRSi~h9e4sfh0o|up_A^uR`KXEJ`p{v1"
    "OZ<O$`<C5>ic~Sca@Z=1kyuI15eN!RS9i8KF33a8JtMD^k&v<M_2Y<yxI`txowT)+qz8P@Pg$P^bL$$=2r%JaJANvv2tOXO47gBbL0raPE^;W$P4"
    "k-ACK&_aD=qnp(5AcK12Wnw(iV?s%tG&hBz;+l*uDYxMCK7cAX1ZmfPVG<NF?Qzq%LnLj;n_QD`NeB1ok`I&!etERqjYI)mey<=D?w0dYM)?5WX#"
    "9L#r%LE7C1135+(Ue>G3G6a5qRao<tALtr6_8{YykJ75gD4dwtk}SQ#UUz|9GS|FqgX1Y#Ni1gii9j%HHab$6sf#wi2`BzyoQTmEBkU+z%6*cMN%"
    "=iy70pct~`7E-MR#1cgyqh8_&1~UaBwVy{Tj=e59y(H<(w%KclmWe_5F064^g5_lxF5>mC23m&N|lyqF6zlo13~OmonJo-orKG#m~pOEw`yp@77S"
    "X%1RWz@$Q&gOU@33Q9x}ae`b)i3loAAce0TTh<7APUsfsmF13LffIv_q?;Ai1XA>lFPxuHMR5lPI4J0HMwns<gq#>8NWPd&4M~!iJ%4kj26GsK0Z"
    "vqU9zBe)2y(zceim#22}(}tcA7IrB}h35=NEx7(F7?cWs`YUC1mrG_mL)3n0sCqw6_NB@DjNvYmRz#a^Q)%T=(Lud*3?LF-AZB+PW=|?7X0Tv--="
    "Q=S;b&%(wiBh2K|#c3QU8BYL^-GowyyU6k2<i(b9_Q0F^mhv=I^=!@zJ<MeyJI=Z*@Or2h{a>b7OpC$Uq4Ij=pc*A`C-;%p8xRFkJ^WdHOd(XVRx"
    "v62KzB%;r;=`XQ`rm+#473"
)
"""The same of three heads."""


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
    for number, data in enumerate(blocks(text)[:3]):
        arrays, described = decode(data, "old")
        total = restored(arrays, described, kind.from_arrays)
        same(total.outcome.sums, gather(number))
        assert (described["span"], described["blocks"], described["fingerprint"]) == (
            number,
            number + 1,
            f"f{number}",
        )


@KINDS
def test_parts_of_before_merge(text: str, gather: type, kind: type[Ratios], tmp_path: Path) -> None:
    header = {
        "identity": {"kind": "old"},
        "blocks": 3,
        "span": 1,
        "fingerprint": "f2",
        "about": {"what": "x"},
    }
    files = blocks(text)
    for shard, numbers in (("1/2", (0, 2)), ("2/2", (1,))):
        with h5py.File(tmp_path / f"{shard[0]}.nc", "w") as file:
            group = file.create_group("blocks")
            group["header"] = np.frombuffer(encode({}, {**header, "shard": shard}), np.uint8)
            for number in numbers:
                group[f"{number:08d}"] = np.frombuffer(files[number], np.uint8)
    merged = merge_parts([tmp_path / "2.nc", tmp_path / "1.nc"], "old", kind.from_arrays)
    whole = added([gather(number) for number in range(3)])
    assert merged.about == {"what": "x"}
    same(merged.outcome.sums, whole)
    assert merged.outcome.sums is not None
    np.testing.assert_array_equal(merged.outcome.sums.value(), whole.value())
    np.testing.assert_array_equal(merged.outcome.sums.error(), whole.error())


@KINDS
def test_a_run_of_before_goes_on(text: str, gather: type, kind: type[Ratios], tmp_path: Path) -> None:
    (tmp_path / "total-00000003.safetensors").write_bytes(blocks(text)[3])
    with Folder(tmp_path, {"kind": "frozen"}, kind.from_arrays, span=2) as folder:
        done, total = folder.resume()
    assert done == 3
    same(total.spans.sums, added([gather(0), gather(1)]))
    same(total.open.sums, gather(2))
    rest = total.open.then(Outcome(gather(3)))
    same(
        total.then(rest, ends=True).outcome.sums,
        added([added([gather(0), gather(1)]), added([gather(2), gather(3)])]),
    )


def test_what_came_before_is_refused_by_name(tmp_path: Path) -> None:
    """Its blocks are the same, but what a total of them is was not said."""
    file = tmp_path / "total-00000001.safetensors"
    file.write_bytes(blocks(OLD)[0])
    with pytest.raises(
        FormatError, match=r"found 'headscope.checkpoint/2', of another version of headscope: finish"
    ):
        Folder(tmp_path, {"kind": "old"}, Sums.from_arrays)
    part = tmp_path / "part.nc"
    with h5py.File(part, "w") as opened:
        opened.create_group("blocks")["header"] = np.frombuffer(blocks(OLD)[0], np.uint8)
    with pytest.raises(
        FormatError, match=r"part.nc: header: expected the format headscope.checkpoint/3, found"
    ):
        merge_parts([part], "old", Sums.from_arrays)
    assert file.exists()
