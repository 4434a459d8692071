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
    "c-rlld2AF_9LGyJiXa6O3lWfPmTCk>n0wxo<E>l<FD_ApEoFA*O}o(UE<01CErp_x5Qrh7qC%A`6apTEhyvl%SQ-IoOOcp@Sguw;L@t|"
    "h`DTyd>TbJJBQbXNkMGWV^ZCwuzxOuz?sK${i@Vq+E^y`9)6%k#E-"
    "8{OrKQ<Z^6XlMM0317#ZC$oZ~+C;tc!IaQ3RX>6joq35eX#6BUO<Yno$*j#vO<O3@@szEO08%%PNp1J7HIlCi~q!-"
    "R<>Y!#t<mmFbnII_)VolCU}Ls@s!}{64?iqZ@6wfppr94!43lx?9gNS}`@%?NNdccr)>reB%+>?U%E&G+pw@NDDj{XjUb6X0|`rGBMR?"
    "L0P__kt$_s$Y{}Y{Kj-GWS)g2%_N+5pC3(kd$YCRKs4lY+5<MOoX`V`7rz%7BM!97-"
    "fWMKlu##{A!Ye8QHa*PQ;{e1UCxv=%@*)8Zo@9PH#I*WmrC{evm_l?DFaE0CVPFTubhG8sXi~RPCpt?+AjGdzn&H*jkQwr93R5W2%g0j"
    "c;$?{iBu}Cys@5MRn?HL;U<y*sn{VfSS>QiK1c$BB@HxF%0d1pDE%PHk_5*aES`)frr~lt!LzC6l<$Fu-"
    "wPA8@p;gKX9<c1cRVx;9@v1OMEWihcP@(JQ;&m)jmba(<qTu1My4Z-0n-E>EQYyfVmHCnV1m`~#0+DQV1iZfSfFtQ*x)wsSimt#a5Nd-"
    "MQNmkWyCze0oL@OtatzxZ%JT!(3Z9&AOtE<$k>+<gM=Ui>ZrwDMobbQ_(Rq#tO7;}kqlH&i+$*rBt#wr>DXV6QGz0wVBIXd-e9qTh-"
    ";T`iwj-xA#HWveT%qzuln0B!sr_L8U?QB+>|Py{<UpZzoC0z>9SA8<kh_&;%a9{r^Ef79E<v2888`@!LS}V`)Ayf=Z~2h*Qm?-"
    "JpSwaFNNp3RC>=r+re(tHhLwj%c-"
    "6G+8fp8I(RDwr}tWZ4tCsZ%PSgN1&2P>x+J&nA+x{WY~j_4+l4T!C6iiAPAJ=D>aiiVaeJ~)n|ict)ZXIFr%VkE!x3F0&#$Tb=wb6cwz"
    "MlB{nu8wZt>uPgjI{-moIc)F>g-)e~o8Gu9?$$!3t=*eEZCzZVIehb}Zw$wkHNPdj2>=mqyIc4TU-4PRd3+?-"
    "GD4l9UU_Z5q*(s&cXbfXFK@g;kLxAl@aDtjG!+ODn4CQe70j<5`7fI3a4vrs_}G)c+x68?icu&`j1Bn#sn5W~M%pW-"
    "W$hnhgc+=%G1U+-"
    "@*5ll3O<yJ4+KaMY9>jklPQF;4|EqV<T34G1b25@U}j7{n_MEJkEZ5)4IKjmQ`!7=dq0M5ZG}Q_K?_*{Fyd(F5}YAB<@YMdXMcm?s3Dv"
    ">1_j{5LoF!?O@GF-ZUbEJtJj2$7?$Mr6*2s1$ECBO5F>0HpPh4DkM^SX{mQNZB}2Ccdw~pjoY{GugZI$mCz)xZX34&{HnJN2j;SE7!g?"
    "GmZ0d$C~z655exAzFD@nOC>z8Bjf1>GtZj+MPt579NYCUoG>%-"
    "@Q*3K!QmGYMl4LflUW_@Z#tfTW)CFhk9RNK|1<2gNgG_=?gz6UE`7CN*pez3*0}wzm*}9-"
    ")H9nZ=k4uYW9sFD6UNQ}Ri?UD*@|z(*O;1IJLEm#QkkiPP9C2&sl#zouk1KkN4x$owW*o7aeRZ?ydNKuI-"
    ";ISM^3qP{VA7jK1*)+?}wzQ6wM2gr~v$zf{_3qNyNAWktR78#Q_?SDoe?V2oQw?Ng{y+cu5dMN(PcdGtKAH&F9k1=hDsR(#_}6O*@xvY"
    "4Kb-KBn`~$hzQ?H&NWU55{jv>T_bsVR&NJ0DpDjJ~JEcD%?3Me{}^+NX`BHWby$x6Ld;nvU&G?=WRB}x{*mNNG^t9?fcG{gtZe&P2K(d"
    "E1js8hfIB}ea7{|g{7u8bsqn9{b?yz?$}uhkKQW&D7Wh&cx~YCJ$okJ$@tE1*0*ZIo`h>!=k}g7sv6!%n(a^SP-6DiZe88uiI2-"
    "*SaYTgzqav_)25Ct>9y$bTUDmkytJ}lAorcAP0i3v-A50b@2yMQdtY4((Wz0JCT`dcFSM?h^K4a-"
    "*?(rphL;`7x54sOZK;HX>*1}$x4saycmFYd=-fHfzHM{i)}#-zcycw2FIuS-jepzhPt9AlcVVBE@Wn+%#UB#$p<n%s878{S{=Wgmw+k)"
)
"""Three blocks of two measures, in the layers 0 and 2, by document."""

COMPARED = (
    "c-rlkUuYaf9LKMTiS-YCs8%7R<y;gC-"
    "P)Pi+1cGF>_S_$6;dmLNRpnjv$M&PyWPv}22H~iAGBhtAX@vNzKB>#E&9?I!58g|Xob?EPog!}{|~krYK*lyyLY)Xm%B^%f>0s*GP}Q<"
    "&+j+Cnc@5U-"
    "OBDvX8O8J@=Qp%T!BZ_p%KmHq}~b14N3(XNxjlAr%uR%BEN?Xb2d^8JU`luBw2EJ$Vy%@@&aE>n;4Mne85Hqq~0u$vjdXr`9r)^EQ#r{"
    "O&Gv{6#w8k+>g9yJhlpI#PglXgdi_o%JCHDmDpGzjHu6en9NJeF7@(brHZA0Ft+eQvEs<3`H;t!FcJ}m!m4u?jQJ5y{P&C5Ptig#AM^3"
    "dC>Y^>^}Q54S$%T?5m_uyd=8e&BF%7^B9({?siPC5Bb#Y1rJABM?ht~RX4{6!6b2wrxyw0(nyq33+6Hn|MqI_VZI?qGi_|1qq@^e~8zb"
    "IlCmJtu;e9*7m0<B#KO7YM8=pnsx*?B3VFI!~C_E$?h0RI4kkn-iVl+9)=A<H{g)A0fleppn_^H;b>#{)xYdOz@?_UfyhztRqqr(=otS"
    "saOEJLJU;lSI&Q>{SIGE|ZTYFDDUg9f}JQou<Heku-"
    "&m8&S>(t#?HApx^zl>=$Fi~w2O(i#ubZI>>VZ6wQXu}zJ_8c0Sk+2_ztMG8trm75)=izz4>5s_*+Q++zB<ErY|T^(0sT0bl5_)J6YR_o"
    "z!ZrQzK|5v8kmwm8v+XZv{*Q2Li{I1KI{k<}tH|KvF){Rp~GHhqJwf{@H<MHdyn1|SjAHTkDj%()kbpGTX|F%x+Bf6ny>!CH)WAA*v^}"
    "_Cr*7|+r)o<SQnR%!8%G;;j`pvxQll8|(|5#_8?aE}%HmwCU3FL$m6&NmZblb)X!3IWzL05;arWiUh08;@r6a%=rZUd;P*o8#b2p|L^g"
    "^6QXN?n1C>k7Qq>q=ZmQiwljB>v!P#9wJdBHXU{BP?rZaq(|JYN%Q^78QTcuyR}phf9K6>V7M}E!D3Ty;RaYSM5?teq7}sx*Ewx4J9AW"
    "FBvT)A2lf$8fioFH6h#pv?KXIT<6MtPAmE1E+Z@sww!II_3dhWo&D+haVj@y_dRlhb%IRy9sK!E^MQeHf66Hr&1bZZ1HVsRGLKze^~P("
    "XGv=#LY%6@Q>xa4;Fgq^vn|55e#D2e41$3%7n(7jb>YAotTcx5G1_(F?wH?<00NM`4Kv4}L`xuFm;3`NrFouq%K}T(=@u;!JqyOQ5hvj"
    "~Mx!+&z_phmbzw<xp_dDwP{l7mw{PLOSX3X19-u&Uk$tiR7(7U^~Ki{!vzt3L!_-Oy>bLI=1vIjQ5KVv!@%FnL-"
    "e#%_T?_TrBz2^>Qt#$wG96i3a$ND1EbNKa*cU$=_zdSm9xyzF7cqo5q%U|ZcP4AuGJHE#H7wy0^*Z"
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
