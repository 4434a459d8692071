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
    "c-rk+dvFv*8jlDD1OiueJkICVg478E%=A2V27!)(SaO~sh$19}*?A;OlHGM@0wf^_9#kP5a(bX1#M8(TDV5Wr<PI!E;m!mO5W+*w<C!23QMo&LRzSF(n"
    "Vs29$cEisDv`RK{PAVF=l7fLue)da_kEq$H7%`or!?~_b?4+1D!M3(x|oyW9#ZO71EE4ucMoyrDWa@NfuJ%-%2TBLV8G|s2QzNMt>uY;<<Ju{0A59*6;"
    "<F=m62(hlDq<?2rA{FSc>C3JP;X`6J!wpPEdKT#H$o7dsJ3nDF6WCk`+w~`GUGH;75d|S#DMI6%>UOEz3Q`H7T2LWx18Ypk8d;s$zkr7$rVg@#{XT5JB"
    ">Ne%bgJfkS~3#h>Li9zv}Qg^Q`dRF=EUD3p95si;uXMZaXdqSP$bf}%eM_0%6`Y@rc)sK{(X2ze*`w9g+b(#>Z{qbBH6!sO;{kw4!bnC^G(3lvq)2^8s"
    "0fj1P$x87{MN(vPDEjq+42T*$ze-ynkLo5syM7=;a;E~(ufsh=z(}D#)J*RP*6x~{<W2ET`e?Ye#Q)U);3j$KUSwb1Ns?VRRgn}V77s4(l!|p~dbV&aX"
    "oMYm3<cD0lHHC_(Ig<wUG^9-P1&Xw=dz4_7+w6h2IQ)R!`f$0~Ger(pMmiGR3-h@GQPW%|pK%-IgY2?0G|Sy$Pz>ogcDb>nWxY74pyl-_7hb-`-6Sd-E"
    "k9$~2UJy4bPW}e1fPu<EGNfCGS?z`f*}oPfmp1BT7ZIUp$ti|oPjkKU_#AhIf7%doh~;5k7^7ifbn-N1;-E+;3FIw1_vS_C;>!~_)3%(c$#4l5HV>wP|"
    "7pDO|j82+JMjmu$<w{h{Q>dH)zWn{)E8@NYIuS{1|BD0mhmJehfH*5-cF?S(HO!3?sr5EYCO`6b=W^pee~a8~|%d@`Q&n9hvwLA|T=Mn10j}cOya)ytR"
    "-uj8Q;PLLf~KYKb=;Aqj!wEp*~9M^J(yY0GaIuQ#xWKtR4LbGg#OSG%xn-{k(5w8mHS<^O>#+t}9_{!;Oe;$Eo##Wid2$W3t9@;AnoHY^F_E<WEf+OF@"
    "Ox%h#zL#HS;(6;+e{WtCI?+!UOEv^f{A2&PxaQSz=4g|i1uAO(Dbb$)kP<(O9)6brC#vyRvq1^l5{1$dw>ng1rR|`kp*I`S^pgm6g>{I3E_FgTAw%s!M"
    "mMQ5qpE~x?2-o;cMaLa`ux3nk)!MHe8*WBs%QklZlAT9wjlXBz?Yp16upX{@<)PW>Z@&UR7~S)&d2=3UH9Y;q$~iq3yaionuAW$YrwkjGAIf{MW8Lt0@"
    "iUOty4djsXe~-2Jsufwq(n0UN3x_u3JS+69){sqnrAs$<UBI(<!F`TC5{6gmi4MUDxzqlzUY+Jx|y^VXkKekjkOk)(ps&iwGtFpWOL$*j7MD2%^?AUDX"
    "st$7G^DrtCnQhb;T9gtTKxRYe|7yR8uYCF|`!JQ<j#%mr{s;pe!+w_*NDH(TMYyQVJmnngX~|3PB0l!^I<|Kr9J^@B~Z7C8c6=AUwfY+xhEBshAuHPk1"
    ";IQ%Z3p!CMOtLyjOM!Sg(}l;U|pU;(a_Vht%nakyH_z#;;k#1~UMn*S8T7-A}xhKi+~n$*uuSv;H7H?VR4l%sHb{~7zi)YGubwDzUDwaw1nH|tEd`p)O"
    "}z`Oo9y{5X?0l4FnynYL2o^t9d$9|MC?v8zM;>?VFUkv#Mjyj$G=)&BHw#n@LW9B2j+ysgF6MW0Ie+9d*(H`1;`#+p|xa_If55HOqZJW0JnJqeB?${G+"
    "4$P~*tKP9^c1|2OgRgb0_ib0z<#zRs?R#;=?>#@%ICl84BhO9ldc?73KRMO_y#ID=vf3#={B><=KDLp~YcbE2QbRY58lsz5L!hx50x31rmYF9aq0F%i6"
    "a@&p%yNRnab5w)5~Bcy6VdKfkQqr-6p03uDtJVO_i_{vS!7j;69CPiJ$)+AmCAFa@?5DrS1QkyT%PMz%sf}Sgz_t~?SdZy8N!F#V7qla2GmX62kT}H4V"
    "}!`=4gmd%Qwy{Td^0WXP2x#)^`V-$#>6vb?s+O;`gr1RZsL__`X%pwu2UpO@C+NF2{cM`QzQGTlYBjXPxsdl`q`o*kt>0v)eD1vAZ)j?t%xeRJ~qu#~y"
    "fo*!O+<WJI)J)?eRke;acQuIy0KfAW}<@N$pmLw&n$aq2IwUvbYb{!jyLTm0Op^B;CP?${@{+`steS85$w|5(NBVeH==o2=GKb{@4gzP~PR=zs1VsC+$"
    "U&7}7>z|$S}&KX!+>C~SX@!qd9-~1TvZr_ngU-&M(lJUZy1?}Y<h95b14z=y$xo~}trG*^10=BEHkSizr#;MOPU0%I#Kn48O;>xPmi1{$2zE3|ac%Axn"
    "z0=Zu*DaRTa`t_UOo<%J^NhkU3a@x&QT51PQcyfV6)2HqRj(>hlmgI?lthw}#HqaKB}K2o(t_lr;@V}lg0k}$6%^bcS?9DMrRy5&I@K4_njA7rsk=5&c"
    "lL}P9A{I^XJfU;tZenej-WXaXa&eIR3OC>*5(&S2J&Gsm#_>(s>Ne%`wSN*A%8u92#5Bau}Dw_8^QfZQ!u=M;I<$&DH3*uDMsn|5|lCXLx{julh>8SF-"
    "c4{8NV!!B??JC30aKL1Y=DOd|8YL2-b3G;<5w*3C@!C7>WuZ3C<b_99hhnOM_2J79%|25kOM17~u&%66C>>#RyLb05fNafP}!~<}48sDMJQ3X=z~5hk<"
    "JPk-`aBQRWwd3QPP57gpd3(V(vlLpJ3~IDUmV45G+)3v<019O&~E<*6i&8W<USijMLW#>g2Ndy0wj5YF&3hIhhw|1b##i;?)JSg!GJ1J;r@SkR9=4H{G"
    "7tZah?Q3+gQDu6{LAYa?Z5)3MgF*gn;Q1<BrlLP0N2|%8<4=GqAI4ryo7G@((#tBLpCl-KxV!<N8IQe26TL5I#-UcT?W)Kj-JiCAu-!q^D03>#V&%h!A"
    "4|a&pz!HF_tq`B9X$;Sf@pX*zT!wAiI#!tMS?)KE4$ObHejj|~<TuBkD%%OmUR!^4^!Z4P=B24CSMT3m2k)MHP+D;0FyvRUpC9W~2XE9_W;<4CpUt0e`"
    "Rte%{`4<s+lCK1txO+y)Un=6WrZWRo^WjauJMcRy-?@a);Zts)5RxyKBaZem&CTye!C<z;J)MV@Z%l8<|+S#7e;rTx@_qeanHxL#;0Qcsn~xi_MeLVzy"
    "IQ}XV^>IV83&RUaIZ)5zMV$GPG0WDyRNJ>46=6dVL93S4$bgw(fvLmx|X%J-zpa;g<}2uuJ8OYhdqLw*?k$ei`y>mUbOJd0u3GK33iHtFv2S!-c;GHf-"
    "1c=l8sKTE+KOPW}G?#jjQS"
)
"""Three blocks of two measures, in the layers 0 and 2, by document; and their total, the third in a span of its own."""

COMPARED = (
    "c-rk*Ym5_B6fTQAl!u0gL=aLN3?vNfoqO-Rz+}b%B48F#6EwR^ozC20>vpH5od%api9Y}pG@=4O&=84A5bzmdLSjsmV2olyK#}+i4-qj@&<!FYcxO6&Z"
    "oAzXl!&%}Ztv-Q=bn4!+<U%r3I+!P!9fA%(-jJbJBX#~s-=d*q3K<rRGSJpJ~TZfuvk=iO@pe2IEmE}h8&4Nq9H*LF)tYr$v^-ItikIM)!_Mv4kTg_!m"
    "GdlPzy03BcAL~Evl=HsCr6^C&)CdjcDzOc+|8SF?~WODJ>aISkbsiAM0uf8EQ0^PLfnhXnL@@l?k?lNJqlzw5Ns|OA%WV)ro0EvqB1KkD9vum4cJ;<-}"
    "|W*$>fuBwaDv$hL$swor>EwRA_yQcW$pM3*B@B~&v^tutMXy%=F7(~b>Ex+C}LsF_Gx&a=S&B@rdAa%Y-0+s*hgGe3_J!wSdKR$dTE#@n+iXP46AX)~*"
    "i>el1bUSbxhCl9L~iCEDBmJKgVm&KEMVU|k7qE@(6rWIS8-xzQ_VaBbTV=|5)5{ql?j)b+RM$}wFl8GdJf3C}c>u&18ywd-Ha~!-y{jelwjbj>d_T5};"
    "NwFD@bK=X~Z$<XEW->HFLux`zTH&1BK90K8nIQCN%;oLlLWA0#HM6bs=-5X#ZWt+IrKkunVk^~<bx?IA?uir`3~Z=#NUI|e1AAgIUDjFGK0Ti76-7qkT"
    "l0G^0pC#zEb$BrZ~>j_1<jzIcnW4%C>AM*E+?KWplF6g&Ia<YvATi^ctp2=oh_K2aF|-oK?mmz$U%nXLGE3JfmfIDfMG?P$FtttB~r5`$LwC*RB2fWGL"
    "UuroH9KjDT;yF$WD1%lcE^N)2(KL0r%73j>Fw?pgZ;p^#18rh7VN4jZ*GDGIH^}HQ&fwQ}E9Iv(Lz#KX2dv<aYy<-0#`(v|Kuul<T^;1+)bNl{H_f^Bx"
    "#<P~NERIr;5v1za_~2V(n{n>Y4X-d87&owaeavS`O=v(7A@qD)ww8L{QoPvnWwXJ6j`;xF=$k0$I|`rCMAFy#z`t8#{Vp8pT!d008mv!!{St>^hZ<#{`"
    "?GX+x3@w~wDBFh;VV_gym;8-khg2qQAkrRQ6AS;RpOA#y@DyJC)2%<q)Bw~t*s9s0{s6-M#Uq}L~goM~HNr0FUU~Q660VzP2UeqKBpd!O42B$6y+$%rm"
    "4eyH`<jIkz6klLP9;t!NhFI7aY5*%z1Gbb}^g<0_6=EUqKB$2}6FdNZr~#nioQ-F%)PTk^#G*|Ng4H;IUoKE4f24fu4j+v)-E*z7hd<Y}{?zaCoR(uhg"
    "wa`frO>eU*P|EYofn5cziH`tdBcOVJKkCNeHmBCjXm{x9YL@CgL<aFYBD{loatd{rib-R@3*4wO9w1Z4J4godCt%^R+5lPPZZ??1amynB02#8X{?H{E)"
    "r3|9MmLABs4^+0up$lb0U)J{eyb{px!_Dm-P?&|3m$QhO+*_pC501=HR2}<uUt)zIXO$w>)CWYYXQ--cYlDpso9Gd-H+g@)J{oYa4f;m-We+RpU-{%eC"
    "~bkhje^zCNgozqDZKu5n|PLxHhdpPMpCiOu}+zH=7`D4|>C$1cqLLtZ`g_0ualM=LK33k2>T;=g~8za@dF83NJ>j}0|~Bo;+PRW+clA&%&f2dt_a2G0r"
    "-!Gb0U9AXhsiK^+U09eS2SEd(Xrem?ciJs&wsPmIjequzEsj@#I>MX@GOUXrJ<CXmT0#>3Q*-P37|Dg9Y7JU<t9F6cyKnfhf@!w@oucG?9@G3m|z%IdY"
    "!5TlVaHxS)FvGJ)oLrkN$ZL`^Sfwgw`986-ihT$tWAnJLtgMm=JT31<;G30EEX9kSSsBGJ(Czqm1JWo&0Q+WT6w4qe`ebDk$spvTbwfc6;{CL4D2hR1`"
    "LXlH{wbb8MS<?G2A~=k>@v$DEnW)&Y+qlnupwV@M-?y_6?Wt)hA5E1F41+s-q4in;_UsKzcoCEAyvR&q4etU7>g86(?DSt-U5;$8LsFy_ZXEF%5bpY1d"
    "jy+g)&^WDD#S>RT*bDPcy+_c`b2`JKpS$L#xyhUTcmkQ`1b$*DjY{+56_<{bQ69uddtj(9VnU*N=Vi)0`<c)cDVIVtL=w9j9eSC9Kryn~plUbx~&bP0H"
    "{Uhr8cCH%QqO0G|(^FiyGa%VT@fXPcDZs+BwLeOgpbZTMiup<(lttECoOaJ@R|jYGF9?>_a`=C+oR%I3gJi;sLND1QM2zdf%"
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
        FormatError, match=r"part.nc: header: expected the format headscope.checkpoint/4, found"
    ):
        merge_parts([part], "old", Sums.from_arrays)
    assert file.exists()
