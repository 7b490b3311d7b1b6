package cryptopolicy

import (
	"crypto"
	"slices"
	"strings"
	"testing"
	"time"
)

// now is the time of the judgement in these tests.
var now = time.Date(2026, 6, 1, 0, 0, 0, 0, time.UTC)

// rsaKey is a usual key of a vendor.
func rsaKey(bits int) Key {
	return Key{Version: 4, Algorithm: rsa, Bits: bits, Bindings: []crypto.Hash{crypto.SHA256}, Bound: now.AddDate(-2, 0, 0), Created: now.AddDate(-2, 0, 0)}
}

func over(h crypto.Hash) Signature {
	return Signature{Version: 4, Hash: h, Created: now.AddDate(-1, 0, 0)}
}

// sequoiaFile is a file of rpm-sequoia in the form that update-crypto-policies writes.
const sequoiaFile = `[hash_algorithms]
ignore_invalid = [ "sha3-256" ]
sha1.collision_resistance = "SHA1"
sha1.second_preimage_resistance = "SHA1"
sha256.collision_resistance = "always"
sha512.collision_resistance = "always"
default_disposition = "never"

[symmetric_algorithms]
aes128 = "always"
default_disposition = "never"

[asymmetric_algorithms]
ignore_invalid = [ "x25519", "eddsa" ]
rsa1024 = "never"
rsa2048 = "always"
rsa3072 = "always"
rsa4096 = "always"
dsa1024 = "DSA"
ed25519 = "always"
mldsa87-ed448 = "ML"
default_disposition = "never"
`

func el10(version, sha1, dsa, ml string) Policy {
	text := strings.NewReplacer("SHA1", sha1, "DSA", dsa, "ML", ml).Replace(sequoiaFile)
	return Policy{OS: "el10", Version: version, Surveyed: Read(map[string]string{NameFile: "DEFAULT\n", SequoiaFile: text})}
}

func named(os, name, sha1 string) Policy {
	text := ""
	if sha1 != "" {
		text = "CipherString = @SECLEVEL=2\nrh-allow-sha1-signatures = " + sha1 + "\n"
	}
	return Policy{OS: os, Surveyed: Read(map[string]string{NameFile: name + "\n", OpenSSLFile: text})}
}

// TestSignature judges signatures under the policies of servers. The reason contains want.
func TestSignature(t *testing.T) {
	dsaKey, edKey, mlKey := rsaKey(1024), rsaKey(0), rsaKey(0)
	dsaKey.Algorithm, edKey.Algorithm, mlKey.Algorithm, mlKey.Version = dsa, eddsa, mldsa87, 6
	newEd := edKey
	newEd.Algorithm = ed25519
	six := over(crypto.SHA512)
	six.Version = 6
	fips := named("el9", "FIPS", "no")
	fips.FIPS = true
	fips8, fips10 := Policy{OS: "el8", FIPS: true}, Policy{OS: "el10", FIPS: true}
	for _, c := range []struct {
		name string
		p    Policy
		s    Signature
		k    Key
		want Outcome
		why  string
	}{
		{"RSA and SHA-256", Policy{OS: "el8"}, over(crypto.SHA256), rsaKey(2048), Accepted, ""},
		{"SHA-1 on EL 8", Policy{OS: "el8"}, over(crypto.SHA1), rsaKey(2048), Accepted, ""},
		{"SHA-1 on EL 8, FUTURE", named("el8", "FUTURE", ""), over(crypto.SHA1), rsaKey(2048), Accepted, ""},
		{"SHA-1 on EL 9 without a survey", Policy{OS: "el9"}, over(crypto.SHA1), rsaKey(2048), Refused, "its signature is over SHA-1, which the crypto policy of EL 9 refuses"},
		{"SHA-1 on EL 9, DEFAULT", named("el9", "DEFAULT", "no"), over(crypto.SHA1), rsaKey(2048), Refused, "the crypto policy DEFAULT of EL 9"},
		{"SHA-1 on EL 9, DEFAULT:SHA1", named("el9", "DEFAULT:SHA1", "yes"), over(crypto.SHA1), rsaKey(2048), Accepted, ""},
		{"SHA-1 on EL 9, DEFAULT:SHA1 by its name", named("el9", "DEFAULT:SHA1", ""), over(crypto.SHA1), rsaKey(2048), Accepted, ""},
		{"SHA-1 on EL 9, LEGACY", named("el9", "LEGACY", ""), over(crypto.SHA1), rsaKey(2048), Accepted, ""},
		{"SHA-1 on EL 9, LEGACY:NO-SHA1", named("el9", "LEGACY:NO-SHA1", ""), over(crypto.SHA1), rsaKey(2048), Refused, "LEGACY:NO-SHA1"},
		{"SHA-1 on EL 9, a site's policy", named("el9", "BANK", ""), over(crypto.SHA1), rsaKey(2048), Unsure, "cannot tell whether the crypto policy BANK"},
		{"SHA-1 on EL 9, a site's module", named("el9", "DEFAULT:BANK", ""), over(crypto.SHA1), rsaKey(2048), Unsure, "DEFAULT:BANK"},
		{"SHA-1 on EL 9, a site's policy with its file", named("el9", "BANK", "no"), over(crypto.SHA1), rsaKey(2048), Refused, "BANK"},
		{"SHA-1 on EL 9 in FIPS mode", fips, over(crypto.SHA1), rsaKey(2048), Refused, "in FIPS mode"},
		{"SHA-1 on EL 9, FIPS:OSPP", named("el9", "FIPS:OSPP", ""), over(crypto.SHA1), rsaKey(2048), Refused, "FIPS:OSPP"},
		{"a site's policy, SHA-256", named("el9", "BANK", ""), over(crypto.SHA256), rsaKey(2048), Accepted, ""},
		{"RSA 1024 on EL 9", named("el9", "FUTURE", "no"), over(crypto.SHA256), rsaKey(1024), Accepted, ""},
		{"RSA 1024 in FIPS mode", fips, over(crypto.SHA256), rsaKey(1024), Unsure, "RSA 1024"},
		{"DSA on EL 8", Policy{OS: "el8"}, over(crypto.SHA1), dsaKey, Accepted, ""},
		{"DSA on EL 8 in FIPS mode", fips8, over(crypto.SHA256), dsaKey, Unsure, "DSA 1024"},
		{"EdDSA on EL 8", Policy{OS: "el8"}, over(crypto.SHA256), edKey, Refused, "reads only RSA and DSA"},
		{"EdDSA on EL 9", Policy{OS: "el9"}, over(crypto.SHA256), edKey, Refused, "its key is EdDSA, and rpm of EL 9"},
		{"EdDSA on EL 10", Policy{OS: "el10"}, over(crypto.SHA256), edKey, Accepted, ""},
		{"EdDSA on EL 10, a file before eddsa", el10("10.0", "never", "never", "never"), over(crypto.SHA256), edKey, Accepted, ""},
		{"EdDSA on EL 10 in FIPS mode", fips10, over(crypto.SHA256), newEd, Unsure, "Ed25519"},
		{"SHA-1 on EL 10 without a survey", Policy{OS: "el10"}, over(crypto.SHA1), rsaKey(2048), Refused, "its signature over SHA-1"},
		{"SHA-1 on EL 10, refused by its file", el10("10.1", "never", "never", "never"), over(crypto.SHA1), rsaKey(2048), Refused, "the crypto policy DEFAULT of EL 10.1 refuses"},
		{"SHA-1 on EL 10, permitted by its file", el10("10.1", "always", "never", "never"), over(crypto.SHA1), rsaKey(2048), Accepted, ""},
		{"SHA-1 on EL 10 until a day", el10("10.1", "2030-02-01", "never", "never"), over(crypto.SHA1), rsaKey(2048), Unsure, "from 2030-02-01 on"},
		{"SHA-224 on EL 10, the default of its file", el10("10.1", "never", "never", "never"), over(crypto.SHA224), rsaKey(2048), Refused, "SHA-224"},
		{"RSA 1024 on EL 10", Policy{OS: "el10"}, over(crypto.SHA256), rsaKey(1024), Refused, "RSA 1024"},
		{"RSA 3000 on EL 10", el10("10.1", "never", "never", "never"), over(crypto.SHA256), rsaKey(3000), Accepted, ""},
		{"RSA 2048 on EL 10, FUTURE", named("el10", "FUTURE", ""), over(crypto.SHA256), rsaKey(2048), Refused, "RSA 2048"},
		{"DSA on EL 10", Policy{OS: "el10"}, over(crypto.SHA256), dsaKey, Refused, "DSA 1024"},
		{"DSA on EL 10, permitted by its file", el10("10.1", "never", "always", "never"), over(crypto.SHA256), dsaKey, Accepted, ""},
		{"ML-DSA on EL 9", Policy{OS: "el9", Version: "9.7"}, six, mlKey, Refused, "OpenPGP version 6, and rpm of EL 9.7 reads version 4"},
		{"ML-DSA on EL 10.0", el10("10.0", "never", "never", "never"), six, mlKey, Refused, "ML-DSA-87 with Ed448"},
		{"ML-DSA on EL 10.1", el10("10.1", "never", "never", "always"), six, mlKey, Accepted, ""},
		{"ML-DSA without a survey", Policy{OS: "el10"}, six, mlKey, Unsure, "ML-DSA-87"},
		{"version 6 with RSA on EL 10.0", Policy{OS: "el10", Version: "10.0"}, six, rsaKey(4096), Refused, "since EL 10.1"},
	} {
		if a := c.p.Signature(c.s, c.k, now); a.Outcome != c.want || !strings.Contains(a.Reason, c.why) || (a.Reason == "") != (c.want == Accepted) {
			t.Errorf("%s: %+v, want %d %q", c.name, a, c.want, c.why)
		}
	}
}

// TestTimes: the clock decides on every release for signatures from the future, and for all other times only on EL 10.
func TestTimes(t *testing.T) {
	key := func(change func(*Key)) Key {
		k := rsaKey(2048)
		change(&k)
		return k
	}
	later := over(crypto.SHA256)
	later.Created = now.Add(time.Hour)
	skewed := later
	skewed.Created = now.Add(time.Minute)
	expired := over(crypto.SHA256)
	expired.Expires = now.AddDate(0, -1, 0)
	usual := over(crypto.SHA256)
	before, after := usual.Created.AddDate(0, 0, -1), usual.Created.AddDate(0, 0, 1)
	for name, c := range map[string]struct {
		s             Signature
		k             Key
		classic, el10 Outcome
	}{
		"from the future":                      {later, rsaKey(2048), Refused, Refused},
		"a clock that is a minute ahead":       {skewed, rsaKey(2048), Accepted, Accepted},
		"older than the key":                   {usual, key(func(k *Key) { k.Created = after }), Accepted, Refused},
		"the key expired before":               {usual, key(func(k *Key) { k.Expires = before }), Accepted, Refused},
		"the key expired after":                {usual, key(func(k *Key) { k.Expires = after }), Accepted, Accepted},
		"the key expired, and is bound anew":   {usual, key(func(k *Key) { k.Expires, k.Bound = after, after }), Accepted, Refused},
		"an expired signature":                 {expired, rsaKey(2048), Accepted, Refused},
		"the key was replaced before":          {usual, key(func(k *Key) { k.Revoked = before }), Accepted, Refused},
		"the key was replaced after":           {usual, key(func(k *Key) { k.Revoked = after }), Accepted, Accepted},
		"the key is compromised":               {usual, key(func(k *Key) { k.Revoked, k.Compromised = after, true }), Refused, Refused},
		"a key that may only certify":          {usual, key(func(k *Key) { k.CannotSign = true }), Accepted, Refused},
		"a key that does not expire, old bind": {usual, key(func(k *Key) { k.Bound = after }), Accepted, Accepted},
	} {
		for _, os := range []string{"el8", "el9", "el10"} {
			want := c.classic
			if os == "el10" {
				want = c.el10
			}
			if a := (Policy{OS: os}).Signature(c.s, c.k, now); a.Outcome != want {
				t.Errorf("%s on %s: %+v, want %d", name, os, a, want)
			}
		}
	}
}

// TestKey: rpm of EL 9 and 10 cannot import a key with a self-signature over SHA-1.
func TestKey(t *testing.T) {
	old := rsaKey(2048)
	old.Bindings = []crypto.Hash{crypto.SHA512, crypto.SHA1}
	for _, c := range []struct {
		p    Policy
		want Outcome
	}{
		{Policy{OS: "el8"}, Accepted},
		{Policy{OS: "el9"}, Refused},
		{named("el9", "DEFAULT:SHA1", "yes"), Accepted},
		{named("el9", "BANK", ""), Unsure},
		{Policy{OS: "el10"}, Refused},
		{el10("10.1", "always", "never", "never"), Accepted},
	} {
		if a := c.p.Key(old); a.Outcome != c.want {
			t.Errorf("%s: %+v, want %d", c.p, a, c.want)
		}
		if a := c.p.Key(rsaKey(2048)); a.Outcome != Accepted {
			t.Errorf("%s, a new key: %+v", c.p, a)
		}
	}
}

// TestPayload: in FIPS mode rpm has no MD5, so a package needs the SHA-256 of its payload.
func TestPayload(t *testing.T) {
	for _, os := range []string{"el8", "el9", "el10"} {
		if a := (Policy{OS: os, FIPS: true}).Payload(false); a.Outcome != Refused {
			t.Errorf("%s in FIPS mode without a digest: %+v", os, a)
		}
		if (Policy{OS: os, FIPS: true}).Payload(true).Outcome != Accepted || (Policy{OS: os}).Payload(false).Outcome != Accepted {
			t.Errorf("%s: a package is refused", os)
		}
	}
}

// TestRead: only the lines that matter are kept, and hostile files are bounded.
func TestRead(t *testing.T) {
	got := Read(map[string]string{
		NameFile:    "FIPS:OSPP\n",
		OpenSSLFile: "[evp]\nrh-allow-sha1-signatures = maybe\nrh-allow-sha1-signatures = no\n",
		SequoiaFile: "rsa1024 = \"always\"\n" + strings.ReplaceAll(sequoiaFile, "SHA1", "never") + "odd\nbad key = \"always\"\n",
	})
	if got.Name != "FIPS:OSPP" || got.SHA1 != "no" || got.Sequoia["sha1.collision_resistance"] != "never" || got.Sequoia["hash_algorithms.default_disposition"] != "never" {
		t.Errorf("got %+v", got)
	}
	for _, absent := range []string{"aes128", "ignore_invalid", "bad key", "default_disposition"} {
		if _, is := got.Sequoia[absent]; is {
			t.Errorf("the setting %s is kept", absent)
		}
	}
	if got.Sequoia["rsa1024"] != "never" {
		t.Errorf("a setting outside of the tables counts: %v", got.Sequoia["rsa1024"])
	}
	huge := "[asymmetric_algorithms]\n"
	for i := range 2 * maxSettings {
		huge += strings.Repeat("x", 1+i%100) + strings.Repeat("y", i/100) + " = \"always\"\n"
	}
	if n := len(Read(map[string]string{SequoiaFile: huge}).Sequoia); n > maxSettings {
		t.Errorf("%d settings are kept", n)
	}
	for _, odd := range []string{"", strings.Repeat("A", 500), "\x00\x01", "한국"} {
		if name := Read(map[string]string{NameFile: odd}).Name; name != "" {
			t.Errorf("%q is the name %q", odd, name)
		}
	}
}

// TestAnonymous: names that the site has chosen stay at the site, and the judgement stays the same.
func TestAnonymous(t *testing.T) {
	for name, want := range map[string]string{"DEFAULT:SHA1": "DEFAULT:SHA1", "": "", "BANK": "OTHER", "FIPS:OSPP:BANK-TLS": "FIPS:OSPP:OTHER"} {
		if got := (Surveyed{Name: name}).Anonymous().Name; got != want {
			t.Errorf("%s is %s, want %s", name, got, want)
		}
		p, q := named("el9", name, ""), named("el9", want, "")
		if a, b := p.hash(crypto.SHA1, "x"), q.hash(crypto.SHA1, "x"); a.Outcome != b.Outcome {
			t.Errorf("%s: %+v, anonymous %+v", name, a, b)
		}
	}
	if !slices.Contains(Files(), NameFile) {
		t.Error("the name is not surveyed")
	}
}
