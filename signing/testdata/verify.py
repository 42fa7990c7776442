"""Verifies vectors.json by what its "about" says: a reading of the protocol in
another language, with nothing but Python's standard library.

    python3 verify.py vectors.json

Not for use with secrets: its arithmetic takes time that depends on them.
"""
import base64, hashlib, json, re, sys

# Ed25519, RFC 8032 section 5.1, in extended coordinates.
P = 2**255 - 19
L = 2**252 + 27742317777372353535851937790883648493
D = -121665 * pow(121666, -1, P) % P
ROOT = pow(2, (P - 1) // 4, P)


def point(data):
    y = int.from_bytes(data, "little")
    sign, y = y >> 255, y & (1 << 255) - 1
    if y >= P:
        return None
    u, v = (y * y - 1) % P, (D * y * y + 1) % P
    x = u * pow(v, 3, P) * pow(u * pow(v, 7, P), (P - 5) // 8, P) % P
    if v * x * x % P == (-u) % P:
        x = x * ROOT % P
    if v * x * x % P != u or (x == 0 and sign):
        return None
    if x & 1 != sign:
        x = P - x
    return (x, y, 1, x * y % P)


def add(p, q):
    a = (p[1] - p[0]) * (q[1] - q[0]) % P
    b = (p[1] + p[0]) * (q[1] + q[0]) % P
    c, d = 2 * p[3] * q[3] * D % P, 2 * p[2] * q[2] % P
    e, f, g, h = b - a, d - c, d + c, b + a
    return (e * f % P, g * h % P, f * g % P, e * h % P)


def times(n, p):
    q = (0, 1, 1, 0)
    while n:
        if n & 1:
            q = add(q, p)
        p, n = add(p, p), n >> 1
    return q


def same(p, q):
    return (p[0] * q[2] - q[0] * p[2]) % P == 0 and (p[1] * q[2] - q[1] * p[2]) % P == 0


BASE = point((4 * pow(5, -1, P) % P).to_bytes(32, "little"))


def public(seed):
    h = hashlib.sha512(seed).digest()
    a = int.from_bytes(h[:32], "little") & (1 << 254) - 8 | 1 << 254
    x, y, z, _ = times(a, BASE)
    x, y = x * pow(z, -1, P) % P, y * pow(z, -1, P) % P
    return (y | (x & 1) << 255).to_bytes(32, "little")


def signed(key, message, signature):
    a, r, s = point(key), point(signature[:32]), int.from_bytes(signature[32:], "little")
    if a is None or r is None or s >= L or weak(a):
        return False
    k = int.from_bytes(hashlib.sha512(signature[:32] + key + message).digest(), "little") % L
    return same(times(s, BASE), add(r, times(k, a)))


def weak(p):
    return same(times(8, p), (0, 1, 1, 0))


# Reading.
class Refused(Exception):
    pass


def need(ok, what):
    if not ok:
        raise Refused(what)


class Reader:
    def __init__(self, data):
        self.data, self.at = data, 0

    def take(self, n):
        need(self.at + n <= len(self.data), "truncated")
        self.at += n
        return self.data[self.at - n : self.at]

    def number(self, n):
        return int.from_bytes(self.take(n), "big")


def fingerprint(key):
    return "sha-256:" + hashlib.sha256(b"feedtree/key/1" + key).hexdigest()


def envelope(wire):
    r, e = Reader(wire), {}
    need(len(wire) <= 172 + 64 + (1 << 20), "too large")
    need(r.number(1) == 1 and r.number(1) == 1, "unsupported")
    for name, size in ("kind", 1), ("role", 1), ("media", 1), ("coding", 1):
        e[name] = r.number(size)
    need(r.number(2) == 0 and e["kind"] in (1, 2), "unsupported")
    for name, size in ("key_state", 4), ("ttl_s", 4), ("epoch", 8), ("seq", 8), ("time_ms", 8):
        e[name] = r.number(size)
    for name in "group", "key", "prev", "payload_sha256":
        e[name] = r.take(32)
    length = r.number(4)
    signature, payload = r.take(64), wire[236:]
    need(length == len(payload), "length")
    need(e["role"] in (1, 2) and e["ttl_s"] <= 31 * 86400, "malformed")
    need(0 < e["time_ms"] <= 253402300799999, "malformed")
    need(0 < e["epoch"] < 2**53 and e["seq"] < 2**53, "malformed")
    before = e["seq"]
    if e["kind"] == 1:
        need(e["seq"] and payload and e["media"] and e["media"] != 4, "malformed")
        before -= 1
    else:
        testifies = e["media"] == 4 and e["role"] == 2 and len(payload) >= 110  # what it says is not read here
        need((testifies or not payload and not e["media"]) and not e["coding"], "malformed")
    need(before == 0 or e["prev"] != bytes(32), "malformed")
    message = b"feedtree/envelope/1\n" + wire[:172]
    need(signed(e["key"], message, signature), "signature")
    need(hashlib.sha256(payload).digest() == e["payload_sha256"], "payload")
    e["payload"], e["hash"] = payload, hashlib.sha256(message).digest()
    return e


def ascending(keys):
    return all(a < b for a, b in zip(keys, keys[1:]))


def key_state(wire):
    r, s = Reader(wire), {}
    need(r.number(1) == 1 and r.number(1) == 1, "unsupported")
    n, s["version"], s["issued_s"], s["threshold"] = r.number(2), r.number(4), r.number(8), r.number(1)
    roots, signing, revoked = r.number(1), r.number(1), r.number(1)
    need(roots <= 8 and signing <= 16 and revoked <= 64, "too large")
    s["url"] = r.take(n).decode("ascii")
    s["roots"] = [r.take(32) for _ in range(roots)]
    s["signing"] = [(r.take(32), r.number(8)) for _ in range(signing)]
    s["revoked"] = [(r.take(32), r.number(8), r.number(8)) for _ in range(revoked)]
    message = b"feedtree/keystate/1\n" + wire[: r.at]
    signatures = [(r.take(32), r.take(64)) for _ in range(r.number(1))]
    need(r.at == len(wire), "trailing")
    need(0 < s["version"] < 2**31 and 1 <= s["threshold"] <= roots, "malformed")
    lists = [s["roots"], [k for k, _ in s["signing"]], [k for k, _, _ in s["revoked"]], [k for k, _ in signatures]]
    need(all(ascending(keys) for keys in lists), "order")
    parts = sum(lists[:3], [])
    need(len(set(parts)) == len(parts), "a key twice")
    for key in parts:
        need((p := point(key)) is None or not weak(p), "weak key")
    for _, until in s["signing"]:
        need(0 < until - s["issued_s"] <= 90 * 86400, "until")
    for key, signature in signatures:
        need(signed(key, message, signature), "signature")
    s["signers"] = lists[3]
    need(sum(k in s["roots"] for k in s["signers"]) >= s["threshold"], "threshold")
    return s


def follows(after, before):
    return (
        after["url"] == before["url"]
        and 1 <= after["version"] - before["version"] <= 1024
        and sum(k in before["roots"] for k in after["signers"]) >= before["threshold"]
    )


def roots_fingerprint(s):
    if len(s["roots"]) == 1:
        return fingerprint(s["roots"][0])
    counts = bytes([s["threshold"], len(s["roots"])])
    return "sha-256:" + hashlib.sha256(b"feedtree/roots/1" + counts + b"".join(s["roots"])).hexdigest()


# Comparing.
def plain(v):
    if isinstance(v, bytes):
        return v.hex()
    return v


def check(what, got, want):
    if got != want:
        sys.exit(f"{what}: {got!r}, want {want!r}")


def refused(read, vectors):
    for v in vectors:
        try:
            read(bytes.fromhex(v["wire"]))
        except (Refused, UnicodeDecodeError):
            continue
        sys.exit(f"{v['name']}: not refused")
    return len(vectors)


def main():
    v, n = json.load(open(sys.argv[1])), 0
    for k in v["keys"]:
        check("public key", public(bytes.fromhex(k["seed"])).hex(), k["public"])
        check("fingerprint", fingerprint(bytes.fromhex(k["public"])), k["fingerprint"])
        n += 1
    for want in v["envelopes"]:
        got = envelope(bytes.fromhex(want["wire"]))
        for name in got:
            check(f"{want['name']}: {name}", plain(got[name]), want[name])
        n += 1
    states = {}
    for want in v["key_states"]:
        got = states[want["name"]] = key_state(bytes.fromhex(want["wire"]))
        for name in "url", "version", "issued_s", "threshold":
            check(f"{want['name']}: {name}", got[name], want[name])
        check("roots", [plain(k) for k in got["roots"]], want["roots"])
        check("signing", [(plain(k), u) for k, u in got["signing"]], [(k["key"], k["until_s"]) for k in want["signing"]])
        check("revoked", [(plain(k), e, s) for k, e, s in got["revoked"]], [(k["key"], k["epoch"], k["seq"]) for k in want["revoked"]])
        check("signers", [plain(k) for k in got["signers"]], want["signers"])
        check("fingerprint of roots", roots_fingerprint(got), want["fingerprint"])
        check("group", hashlib.sha256(b"feedtree/group/1" + got["url"].encode()).hexdigest(), want["group"])
        n += 1
    for step in v["key_state_steps"]:
        check(f"{step['after']} after {step['before']}", follows(states[step["after"]], states[step["before"]]), step["reason"] == "")
        n += 1
    block = "-----BEGIN FEEDTREE KEY STATE-----\n(.*?)-----END FEEDTREE KEY STATE-----"
    chain = [key_state(base64.b64decode(b)) for b in re.findall(block, v["certificate_pem"], re.S)]
    check("certificate", [follows(b, a) for a, b in zip(chain, chain[1:])], [True, True])
    n += 1 + refused(envelope, v["refused_envelopes"]) + refused(key_state, v["refused_key_states"])
    print(f"ok: {n} vectors")


main()
