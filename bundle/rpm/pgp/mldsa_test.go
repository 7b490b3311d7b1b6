package pgp

import (
	"bytes"
	"crypto"
	"strings"
	"testing"
	"time"

	"github.com/ProtonMail/go-crypto/openpgp/packet"
	openpgp "github.com/ProtonMail/go-crypto/openpgp/v2"

	"airgap.dev/airgap/internal/cryptopolicy"
)

// postQuantum returns a public key of version 6 and a signature of text by it.
func postQuantum(t *testing.T, algorithm packet.PublicKeyAlgorithm) (key, signature []byte) {
	t.Helper()
	at := func(now time.Time) *packet.Config {
		return &packet.Config{Algorithm: algorithm, V6Keys: true, DefaultHash: crypto.SHA512, Time: func() time.Time { return now }}
	}
	e, err := openpgp.NewEntity("vendor", "", "vendor@vendor.example", at(made))
	if err != nil {
		t.Fatal(err)
	}
	var public, by bytes.Buffer
	if err := e.Serialize(&public); err != nil {
		t.Fatal(err)
	}
	if err := openpgp.DetachSign(&by, []*openpgp.Entity{e}, strings.NewReader(text), at(made.Add(time.Hour))); err != nil {
		t.Fatal(err)
	}
	return public.Bytes(), by.Bytes()
}

// el10 is the policy of a server with EL 10 and these lines in the file of sequoia.
func el10(version, fipsName string, lines ...string) cryptopolicy.Policy {
	file := "[hash_algorithms]\nsha512 = \"always\"\n[asymmetric_algorithms]\nrsa4096 = \"always\"\n" + strings.Join(lines, "\n") + "\ndefault_disposition = \"never\"\n"
	surveyed := cryptopolicy.Read(map[string]string{cryptopolicy.NameFile: fipsName + "\n", cryptopolicy.SequoiaFile: file})
	return cryptopolicy.Policy{OS: "el10", Version: version, FIPS: fipsName == "FIPS", Surveyed: surveyed}
}

// TestMLDSA reads generated keys of version 6, verifies their signatures, and judges both by the policies of servers.
func TestMLDSA(t *testing.T) {
	fips9 := cryptopolicy.Policy{OS: "el9", Version: "9.7", FIPS: true}
	for algorithm, c := range map[packet.PublicKeyAlgorithm]struct{ name, line string }{
		packet.PubKeyAlgoMldsa65Ed25519: {"ML-DSA-65 with Ed25519", `mldsa65-ed25519 = "always"`},
		packet.PubKeyAlgoMldsa87Ed448:   {"ML-DSA-87 with Ed448", `mldsa87-ed448 = "always"`},
	} {
		key, signature := postQuantum(t, algorithm)
		keys, unreadable := ReadKeys(armored(t, "PGP PUBLIC KEY BLOCK", key))
		if len(keys) != 1 || len(unreadable) > 0 {
			t.Fatalf("%s: %d keys, %v", c.name, len(keys), unreadable)
		}
		if again, wrong := ReadKeys(public(t, keys...)); len(again) != 1 {
			t.Errorf("%s: the key in the bundle: %v", c.name, wrong)
		}
		got, err := Check(keys, strings.NewReader(text), signature)
		if err != nil {
			t.Fatalf("%s: %v", c.name, err)
		}
		if _, err := Check(keys, strings.NewReader(text+"x"), signature); err == nil {
			t.Errorf("%s: other data is accepted", c.name)
		}
		m := got[0]
		if m.Signature.Version != 6 || m.Signer.Version != 6 || m.Signature.Hash != crypto.SHA512 || len(m.Fingerprint) != 64 || len(m.Primary.Bindings) == 0 {
			t.Errorf("%s: %+v", c.name, m)
		}
		for _, server := range []struct {
			name   string
			policy cryptopolicy.Policy
			want   cryptopolicy.Outcome
			why    string
		}{
			{"EL 9", cryptopolicy.Policy{OS: "el9", Version: "9.7"}, cryptopolicy.Refused, "rpm of EL 9.7 reads version 4"},
			{"EL 9 in FIPS mode", fips9, cryptopolicy.Refused, "rpm of EL 9.7 reads version 4"},
			{"EL 10.0", el10("10.0", "DEFAULT"), cryptopolicy.Refused, c.name},
			{"EL 10.1", el10("10.1", "DEFAULT", c.line), cryptopolicy.Accepted, ""},
			{"EL 10.1, refused by its file", el10("10.1", "DEFAULT"), cryptopolicy.Refused, c.name},
			{"EL 10.1 in FIPS mode", el10("10.1", "FIPS", c.line), cryptopolicy.Accepted, ""},
			{"EL 10.1 in FIPS mode, refused by its file", el10("10.1", "FIPS"), cryptopolicy.Refused, c.name},
			{"EL 10 without a survey", cryptopolicy.Policy{OS: "el10"}, cryptopolicy.Unsure, c.name},
			{"EL 10 in FIPS mode without a survey", cryptopolicy.Policy{OS: "el10", FIPS: true}, cryptopolicy.Unsure, c.name},
		} {
			a := server.policy.Signature(m.Signature, m.Signer, made.Add(2*time.Hour))
			if a.Outcome != server.want || !strings.Contains(a.Reason, server.why) {
				t.Errorf("%s on %s: %+v, want %d %q", c.name, server.name, a, server.want, server.why)
			}
			if a := server.policy.Key(m.Primary); a.Outcome != server.want || !strings.Contains(a.Reason, server.why) {
				t.Errorf("the key %s on %s: %+v, want %d %q", c.name, server.name, a, server.want, server.why)
			}
		}
	}
}
