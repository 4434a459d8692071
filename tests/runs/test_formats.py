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
from headscope.core.heads import Head
from headscope.core.tokens import Tokens
from headscope.errors import InputError
from headscope.measures.sums import Documents, Ratios, Sums
from headscope.runs.checkpoint import Folder, restored
from headscope.runs.parts import merge_parts
from headscope.runs.safefile import FormatError, decode, encode

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
    "c-rk+dvFv*8jlDD1OiueJkICVg478E%=Ekw=m>}<=L10$AtB7pBUzH{t~(nb2|@6n3gM8_14W3Zkt0$nCq>DfSct-%2^=7Vhv@N45QwPUojfZbT+htz>"
    "?UM4yS)^Fx?TSGnC|)grswPKN&mj@o7XulP3Vwj{z{!WIfZIKQlx;Clj9sz>Qq!+_Pc!nx7Xtw<Sfl{YLdI4$gk>I&Owfe*@Pp@sTTSI#m1#373iwb;#"
    "O2oz-=`mNWR;n82?3Jzqds7WI2tS^gPKQY^DZMS<W(}QFi;~qC!0&d1UJmrDn74lRP<Ip8+))V+<nTFEYpAS0yEQx7*_@3YhnjMvu>}2FcCKB2T`@JI!"
    "NX7pPhw$6FMz8(e;GzV&45QL?wlW6>dQ#f!$PdLro6=~AJuAmRZ510KGd=JhM#E8SP%4&*d$lOsoKzZhwH!s87@I!5(aI8RYQL7Ca&D)7qrW*cQ(YHm-"
    "i>i7BGo<ML4$e{a?OYMjJA3DqA3n0JbhDKMYO1izM(3|_!scvtP9(0%L%W|4;<SGu{5PF+nyZNT766_4WSmaxo_Z3LG?lAd`%Lt!jmz6mQV_yK4Lz|7#"
    "1X7l1Rpl9)a<ME2XpR+t!n3l(kQ`0P5({{RM*pDz&nS%SqDY{)B*2KO#FL0i^ZE;=0OHC+6RgW<2Mv((R5{=0MeAW8gZ7+L@=5+cPG}V7mJbyBRD^kqW"
    "31sAR}-mh!fAdMyqcz~0Ub4wgpiFGtSOF;WUfUD1Vb9o0;yQ_$AE%sp$ti|oPjky2MG<A<p_?+wqLmscw}QR0gQjwQg94G0U^wxV{jk>f)YUliMvFN!P"
    "5+bh=@tkfpVVlrHqb_G6sYufaMH({UuI<yg^&u@FWaIK!Ucs;K4v64=~m;@L<3ZlwbiFT17b|#xx>4!3vDcLE&%+3|f+c%>l5Mq(JbL>Bz*V5CI9EH~p"
    "w5?nZ<p1ZyMf7_)$&gh-km)Ds^%LJ}e;Sm?wbj-UiZ(w5&a9&ca~frxxp=5VA1e{F)cZIkQU(i;DoZ~qUBZKMB23zv$2k@mvCUmY_Cj@SfuEq`lFX~W_"
    "m?&6EF(V_mXnTsAeJ9x5M14DNIssE<k`{N<orp5Kce~()of4Ka|9tXTXK*!FzPdY#aY$(1s`Pt`B+VkK&Ff8}Mw|{_L);UTm$JW9T5477-GGLG0KkHQa"
    "xxH7*VaRToblc?gn$K-}Xt-nCrlRAvJy<ikx@z5bwhay=Gq#QXe#x$**2drW$(_5OzOWvydTrRO^mku_AC2n%&fM7#-7q};)XLf2=f49TXRe-DbhiQ<m"
    "LJM{xP9Hwc=1b-7V8;Ri?wu`BT{PZ)>Uhud9_A0R%=vBt+kq3Ya-7?6`(T+I>Lz*Be5=$)f84#Il%E0t*H_#yBGl}F-Fype4}JW0uoDeJi1ZfD2?P35n"
    "p6;;){$&e9_Gz0fQ;N0235$vBg&`+18@?BAZoikzhS3a7?uo3y-O_5T3HM2ENon1O#P?jl_?-2#97}z?51DNzfF)m0Ac&&^#B9)B@2Y4#E>G8JE<G%7O"
    "3%XC3!jl3GzY5T4*U5>sk%Bq3NE4@0gXBq0a_w$u^?LSzB1)M5>(LvgrT%fKQ6fy5VE0$TqR!x&;Kn#PKzt(x@DN?AOc)!Vyq|Ky`^T;J*Y!Iaam)6}-"
    "5yY<cX**NP=m->$9_P~4oG_9t(#{szGv%Eg@XPmP8E604CG4`%~aKem?eP0dw9*#Vn{@8-tu=dI9_)F%azug3hdE?#7wtow|uGNR_zVn}UKV0_AtVdq2"
    "g&~`^{kbgxq1?77)*hH!eNVk@&+MEqcDhh&Ti3ges>^NaZQJ|e@IUfD*VuOGu_G@`>U_kuXFogE09^mJZL-=bK75NdwH{l^&Wo8RvyX)gC%Gh9VI);%1"
    "dU;UERwX$lbQ-B4KNG^fW%3hqVbF<YBa03ScL|Z%8|gOxR`jN_9>lr3+p_(d7TFu>pYOsc{fv5E|n)s<;hZcvQ(Zdl_yIsPj)+Io~%tm`I+c;{?FbFam"
    "_Z^=96yy>Za_2bu$P1PiAbhHOA-V8)ufS*bCFMOI9E2y#vk=y5_#V?u#bze@Eu3r@Aph?<yFw0~U@+e{aGr+kWxolU=FX_t^GV9rG@gFW6<<WZ&afw_h"
    "(~cV}+g1rJ`ST3T|~9(aDpPrZ6&gtcPU-`;O~2XhRrY**5E(&&@$a<>=#y*qEQ`!B9vao=y=tbrk0{KCldYdRda?bBNxT=eTJwYIH)ykgc6_V2b$R*NO"
    "Oj#?YvHy~~3d+t4`em8pU#1A&W)9v=o?q6GJ_n#R4!4sKpe+qZEZBL~ycpqNLc<C>q{_1tZkC-!?+V<%jxW3zxLXKPk+f-I4mE(VJ_h*+buU^ov0{(7M"
    "Wz`$RJm}Xxq#qGocK<g$)6&*-X~mjF`>>k4G_psK(nhhhk>>X6O^O&(3hAa$NTC%!FwUWv_eL9!*?GN+DO(Pu*nt~XlPLypnj{L6OQ9s7DIzKGBqy_^s"
    "K_#)MOLI-vL>pMpwN_}@ubV8Xp}568t+mQ5s9EVk!S_jF;pVO5!T@tM<xnEv6rw+M5>0jj)lgAB_WS_Km=0*_RJ@!l8xj*cqkZNK=6=YH7OEyhACF*_!"
    "68^^Gk>zq&8cW%~45AwHd!`jwTvOAqm-x&;(;G4t&{+2ng14Y2va40SV5M{uqi2Aqmc!2prkWnOj3hN;V@r!HXa%*^Kan5Do%i$!3HnM1Yy|L_k6maC4"
    "priIgLQo%A%Y=)*uY{Yc>iv?%inK?OqqVJ@t|7NS948-{Gkm2i9uaTrA5?-u5MH8{}cE5cJrlqwh*e~OOq6voUM8Gnk2@DR@QGlqA9bpt^X3>KqsfMU7"
    "Ee;cs2w84V@$kU)P70%8!SP+%SHKqbsR3h?qsI0-D!kBZTxPb~)H<%naWhwx9I#lFfk>IchM%b7QI~gZvWmG(XP{o5qf>AkRlsy14;%tKxKr;vkVAeih"
    "#s3T_0RV{|0W`3PfX5C28dw6*v=st$G>!3vVu0=Atm_Eb){Z46TPyz7(f;|**YAUmp8Wp!Gi5tr*&FMxjyfNX;k+_s<?8+0>)^d}4$AY79EQRw_RC`(>"
    "frUNl@7%+L$&|oFP|O#(x3kYL$=|g4lC39AGNLPQd!}MttV_-ziZsW`!Cel_Qupl+`RZ?>sxM2eM)pY^$&~v{T?_D4?o!sY@YlLyfCWslx0i4ihDh_Ha"
    "?XbNaY4nxq(z};KP@PJjY(z2K$^l^h#}?k6~{8;=vs%SK0j+N)PPl)#Gcpx?0W{vULX}I#nzk`Rv~7hF{$O;ZBt=uZ2Bl-r-%i`Bf;aUDA2zq`Bes`FM"
    "5rZ_jRp4Hy35-LPQ;oY(#SsTDs}+5P_m>vVo!"
)
"""Three blocks of two measures, in the layers 0 and 2, by document; and their total, the third in a span of its own."""

COMPARED = (
    "c-rlmdyErB9LLKcpz_f0kO)F*gW(buZg+NeXBSL%4Il#M05u`z?x_2i<?8jerQHUOONoB~DriIn{y;-QRDyud5EBw(RDv;z2?0goGdx7ZL_sfzh~Vtw+"
    "Fq}Z+dVW8yZ=mg+V5|E^V^x}=l9!%H-<v;kdSkAMxxPnY$>{8DbZ+TdS}E)q}mlLGCk6Y6+Nvbl6acdinX?6B4%0*FhWIioYqpYq!mk;<Y%4D5krZ^Gb"
    "x;Ij!X|XwNT;a2yRbW9rmrE#M9XBiRsw1Vs0mqw8c!_{z$~B#7b;7N9-S^Ta}d8%``C0k*wXR#Zp?PJ#8tb<_^*6bf=Sw871DCp2Z4ISgDNTLyFAE`*q"
    "ArW-RBowEayohCSoXZN_Xf6U)uqeH<HBG?B4#9cn7k=8o(Rr6n?^YmV5~6U1L^7MRB?l=fu2U;xXO=WmxMQhNR_os7q<XwN>a(A(U^XeSb8!YT|5HeH>"
    "WiN~`}j~Y*CZB8F!-x@J<DNZF*<av6JfcC;qLYf=oe;6#so<-uawA(w!RqVu}snD}Rx13-lmV2KH=F^hRlHEeqG~jr$QIH6LZXgZPP!KSOHC9J}<uIaI"
    "4Pg!eMiF$x@U$Q*EUiHS>Y|7kQB^QN0P|!wM3khGvZCE%*xOaNI+B=JpUXpcF#E2FX(8Lx-qH!fNMkEax@byhAr{==msi5xN`Zp3Ep-lr@=BHhy|s`G>"
    "x^sfRA2rI0wwY-xjFX`-&;*A@)SeEygFS$O|iZ8L`*S2C@>IPiG6uM)D*)y6UZ%z@&-!iSuzFaOu_V}gT!+VI68kq4p3zAbw8^p?KfmRO)&z@=^20F5{"
    "TQP<93BGl^RwA6kwb<r%hi<qN0GiveW*?Bq|E<WUAS4$h+#ic7)ds_SylV%GZD*eW;{vw7l@xs3r5(eJ62^;rj;8J|}hjy7S=EKMaz)zjxcSQqOx)zPW"
    "2hNLw&iUiXbM@8KbbrOn#D)8F5n*Ojw-D1Kn2dD}qwL#2M)tj%NO#k;<kb#BQNdE(ma$ZdChCQXVx|H{Faev^iNGI7tcKPJfagemIFGDVFTu3KUNrHO&"
    "*NeoPl7y=Q4iwM<`I|mUot%(M0UyKG+Kx4=u0V^uzc!9?{U>KyU00|mYfPxr7P<4Z+A<ya%vznmzfe5-3M9_VK2)2|Gz@QKTAca76h$x{%z{8KK5J8tD"
    "kV0{~U*d}VP)Q$%9&+&H3jy-f<P#liT4F$7&;gW02c{=_R6qw%20RcS038qk0GbYh4m4TL?t1o%4rDC@DA?!_F2@W(S)r)^vEsHXdR%RM;3jz=f1z>Xn"
    "LnjD%_n|}vgf7MsBZo5$1h2{FOPU}%d(5orblMCzq{ziB9`cGd)xKfF05F8$Q^Y+hpNJ0Z0I5{G8%%0sv?nNX+~EyBml_rstQzA;|zht2x}ZvX&s0nix"
    "ns^T&+@ZJ#z<Jnma&G?f^CJxO$a}Y8X<hKh)|Ewfe)gReu=xFV!FFis}!4f4cp-!;fE-#vT~<!TIA|(#WN+FPi&gUDf)7w&CNQO@~fOPfZQ4Z`gZL((A"
    "Kp#-Hkvs@Yv7?U-?LV_2SWWx=vN<HyNILgTi-FlDkFpZW7c7cLKyBX`b^Uz+)sw07znXIFKMk>4L43auD=O~2E~9o+rLgq#O8PN>WYMl6*sddX3vg?`g"
    "Q_iAmpny*JNs}s~m1m<~?UKzj;7?lH@Liz~wLq<i2(G&!cX0W^nM1zNj!!)EBnp0T>{NM>Fg(vPI9)M5CISz%ufYOZ_z5ylA7|yfk2bvY+@A=2-GX{1F"
    "5A)sx35A0WV%`nk5pn*D-Gsg>w1F~NJ;V2j+Dg_joPTs4_LbU7xxhmT2y|d-BU+*td{Z0IP{6Ag`4f^=$kH${wGl1F0wEx^5hca40ZKnaM6rC3(hpHlt"
    "Wdn|{ACA3Pq76HJy?!FEKtxR&jKrc69s4=Um!oBK<kbepdg!{k*_sGgcS5Z*b)0v6Bvf>`I|d6d@n;{fP$#!(c^P15;^%B$j`#xf+R|cD>%)4u1X@MIF"
    "Jv5&xC?VDb7vW{3=P-#@WT!Y&cw;Yuw<qcX;ivGP#D|oaDdBc_!s@n=7yGf9vSMvGS?cHf(!z_hsqZC%*b+&XilLypx?&TsQUFX>Kb=<!W`;(WkdB&hE"
    "Wk9<l0Z*E<)6$Xi16mm?;Qm+$}j#Qx0rMmfA@^{xk>734FUKALf4_<Z?#$<-FzqD+4C$UX9V&%C|0wRx1hHT3e5W1l1WADXsh$N"
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
    """All but the order of what was counted, and the order in which a numpy adds."""
    assert a.counts == b.counts
    one, other = a.to_arrays(), b.to_arrays()
    assert one.keys() == other.keys()
    for name in one.keys() - {"counted", "counts"}:
        assert (one[name].dtype, one[name].shape) == (other[name].dtype, other[name].shape), name
        if one[name].dtype.kind == "f":
            np.testing.assert_allclose(one[name], other[name], rtol=1e-12, atol=1e-15, err_msg=name)
        else:
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
        same(total.sums, gather(number))
        expected = (number, number + 1, f"f{number}")
        assert (described["span"], described["blocks"], described["fingerprint"]) == expected


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
    merged, about = merge_parts([tmp_path / "2.nc", tmp_path / "1.nc"], "old", kind.from_arrays)
    whole = added([gather(number) for number in range(3)])
    assert about == {"what": "x"}
    same(merged.sums, whole)
    np.testing.assert_allclose(merged.sums.value(), whole.value(), rtol=1e-12, atol=1e-15)
    np.testing.assert_allclose(merged.sums.error(), whole.error(), rtol=1e-12, atol=1e-15)


def test_a_run_of_before_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "total-00000003.safetensors"
    file.write_bytes(blocks(OLD)[0])
    with pytest.raises(
        InputError, match=r"total-00000003.safetensors: expected a file a block, found a total"
    ):
        Folder(tmp_path, {"kind": "frozen"}, Sums.from_arrays)
    assert file.exists()


def test_what_came_before_is_refused_by_name(tmp_path: Path) -> None:
    """Its blocks are the same, but what a total of them is was not said."""
    file = tmp_path / "span-00000001.safetensors"
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
