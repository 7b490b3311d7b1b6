package rpm

import (
	"bytes"
	"crypto"
	"encoding/base64"
	"encoding/binary"
	"errors"
	"io"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/ProtonMail/go-crypto/openpgp"
	"github.com/ProtonMail/go-crypto/openpgp/packet"

	"airgap.dev/airgap/bundle/rpm/pgp"
	"airgap.dev/airgap/bundle/rpm/rpmfile"
	"airgap.dev/airgap/internal/cryptopolicy"
	"airgap.dev/airgap/internal/nevra"
)

// signature signs data as a vendor's old or new program does.
func signature(t testing.TB, by *Key, h crypto.Hash, data ...[]byte) []byte {
	t.Helper()
	private := by.entity.PrivateKey
	s := &packet.Signature{Version: 4, SigType: packet.SigTypeBinary, PubKeyAlgo: private.PubKeyAlgo, Hash: h, CreationTime: built, IssuerKeyId: &private.KeyId}
	sum := h.New()
	for _, d := range data {
		sum.Write(d)
	}
	if err := s.Sign(sum, private, &packet.Config{NonDeterministicSignaturesViaNotation: new(false)}); err != nil {
		t.Fatal(err)
	}
	var b bytes.Buffer
	if err := s.Serialize(&b); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// unsignedPackage is a package without its signatures, to sign in other ways.
type unsignedPackage struct{ lead, header, payload []byte }

// unsignedOf splits a package. Without a digest it is like a package from before rpm 4.14.
func unsignedOf(t testing.TB, data []byte, digest bool) unsignedPackage {
	t.Helper()
	r := bytes.NewReader(data)
	_, h, err := rpmfile.Read(r)
	if err != nil {
		t.Fatal(err)
	}
	payload, err := io.ReadAll(r)
	if err != nil {
		t.Fatal(err)
	}
	p := unsignedPackage{data[:rpmfile.LeadSize], bytes.Clone(h.Raw), payload}
	for at := rpmfile.IntroSize; !digest && at < rpmfile.IntroSize+int(binary.BigEndian.Uint32(h.Raw[8:]))*rpmfile.EntrySize; at += rpmfile.EntrySize {
		if binary.BigEndian.Uint32(p.header[at:]) == rpmfile.TagPayloadDigest {
			binary.BigEndian.PutUint32(p.header[at:], 5990)
		}
	}
	return p
}

// with returns the package with a signature header of these tags.
func (p unsignedPackage) with(binaries map[uint32][]byte, openPGP ...[]byte) []byte {
	var index, store bytes.Buffer
	entry := func(tag, kind, count uint32, data []byte) {
		for _, v := range []uint32{tag, kind, uint32(store.Len()), count} {
			index.Write(binary.BigEndian.AppendUint32(nil, v))
		}
		store.Write(data)
	}
	for _, tag := range slices.Sorted(maps.Keys(binaries)) {
		entry(tag, rpmfile.TypeBinary, uint32(len(binaries[tag])), binaries[tag])
	}
	var texts []byte
	for _, s := range openPGP {
		texts = append(texts, base64.StdEncoding.EncodeToString(s)+"\x00"...)
	}
	entry(rpmfile.TagOpenPGP, rpmfile.TypeStrings, uint32(len(openPGP)), texts)
	var all bytes.Buffer
	all.Write(p.lead)
	all.WriteString(rpmfile.HeaderMagic + "\x00\x00\x00\x00")
	all.Write(binary.BigEndian.AppendUint32(nil, uint32(index.Len()/rpmfile.EntrySize)))
	all.Write(binary.BigEndian.AppendUint32(nil, uint32(store.Len())))
	all.Write(index.Bytes())
	all.Write(store.Bytes())
	all.Write(make([]byte, (8-(rpmfile.IntroSize+index.Len()+store.Len())%8)%8))
	all.Write(p.header)
	all.Write(p.payload)
	return all.Bytes()
}

// answers has a part of the error for rpm with each policy; "" if it accepts the package.
type answers map[*cryptopolicy.Policy]string

// TestSignaturesOfServers: a package is right if rpm of its servers accepts one of its signatures. "" means accepted.
func TestSignaturesOfServers(t *testing.T) {
	var b bytes.Buffer
	if err := BuildPackage(&b, spec("agent"), aKey()); err != nil {
		t.Fatal(err)
	}
	p, old := unsignedOf(t, b.Bytes(), true), unsignedOf(t, b.Bytes(), false)
	header := func(by *Key, h crypto.Hash) []byte { return signature(t, by, h, p.header) }
	whole, both := signature(t, aKey(), crypto.SHA256, old.header, old.payload), signature(t, aKey(), crypto.SHA256, p.header, p.payload)
	onlyHeader := old.with(map[uint32][]byte{rpmfile.TagHeaderRSA: signature(t, aKey(), crypto.SHA256, old.header)})
	good, foreign, sha1 := header(aKey(), crypto.SHA256), header(anotherKey(), crypto.SHA256), header(aKey(), crypto.SHA1)
	later := spec("agent")
	later.Time = time.Now().Add(time.Hour)
	var future bytes.Buffer
	if err := BuildPackage(&future, later, aKey()); err != nil {
		t.Fatal(err)
	}
	el8, el9, el10 := cryptopolicy.Policy{OS: "el8"}, cryptopolicy.Policy{OS: "el9"}, cryptopolicy.Policy{OS: "el10", Version: "10.1"}
	fips := cryptopolicy.Policy{OS: "el8", FIPS: true}
	permits := el9
	permits.Name, permits.SHA1 = "DEFAULT:SHA1", "yes"
	const six = "it has only signatures of RPM version 6, which this rpm ignores"
	const none = "of the signatures that this rpm reads, none is from a configured key"
	for _, c := range []struct {
		name string
		data []byte
		want answers
	}{
		{"of the header", p.with(map[uint32][]byte{rpmfile.TagHeaderRSA: good}), answers{&el8: "", &el9: "", &el10: "", &fips: ""}},
		{"of header and payload", old.with(map[uint32][]byte{rpmfile.TagWholeRSA: whole}), answers{&el8: "", &el9: "", &fips: "no SHA-256 of the payload"}},
		{"of header and payload, with a digest", p.with(map[uint32][]byte{rpmfile.TagWholeRSA: both}), answers{&el8: "", &el9: "", &fips: ""}},
		{"both", p.with(map[uint32][]byte{rpmfile.TagHeaderRSA: good, rpmfile.TagWholeRSA: both}), answers{&el8: "", &el10: ""}},
		{"over SHA-1", p.with(map[uint32][]byte{rpmfile.TagHeaderRSA: sha1}), answers{&el8: "", &el9: "rpm of db1 refuses it: its signature is over SHA-1", &permits: "", &el10: "SHA-1"}},
		{"over SHA-1 and SHA-256", p.with(map[uint32][]byte{rpmfile.TagHeaderRSA: sha1, rpmfile.TagHeaderDSA: good}), answers{&el8: "", &el9: ""}},
		{"from the future", future.Bytes(), answers{&el8: "from the future", &el9: "from the future", &el10: "from the future"}},
		{"of RPM version 6", p.with(nil, foreign, good), answers{&el8: six, &el9: six, &el10: ""}},
		{"of version 6 by a vendor, of version 4 by another", p.with(map[uint32][]byte{rpmfile.TagHeaderRSA: foreign}, good), answers{&el9: none, &el10: ""}},
		{"of version 4 by a vendor, of version 6 by another", p.with(map[uint32][]byte{rpmfile.TagHeaderRSA: good}, foreign), answers{&el9: "", &el10: none}},
		{"by another vendor", p.with(map[uint32][]byte{rpmfile.TagHeaderRSA: foreign}, foreign), answers{&el9: "its signature is not from a configured key", &el10: "not from a configured key"}},
		{"of version 6 in another form", p.with(nil, []byte("odd")), answers{&el9: "not from a configured key"}},
		{"none", p.with(nil), answers{&el8: "it is not signed", &fips: "it is not signed"}},
		{"only of the header, without a digest", onlyHeader, answers{&el8: "no signature covers its payload"}},
	} {
		for policy, want := range c.want {
			keys := aKey().Keyring()
			keys.servers = targets{{*policy, []string{"db1"}}}
			err := VerifyPackage(bytes.NewReader(c.data), nevra.NEVRA{Name: "agent", EVR: nevra.EVR{Version: "1.0", Release: "1"}, Arch: "x86_64"}, keys)
			if (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
				t.Errorf("%s, %s: %v, want %q", c.name, policy, err, want)
			}
		}
	}
}

// oldVendor is a key with a self-signature over SHA-1.
func oldVendor(t *testing.T) []byte {
	t.Helper()
	vendor, err := openpgp.NewEntity("Vendor", "", "v@example", &packet.Config{Algorithm: packet.PubKeyAlgoRSA, RSABits: 2048})
	if err != nil {
		t.Fatal(err)
	}
	for name, identity := range vendor.Identities {
		identity.SelfSignature.Hash = crypto.SHA1
		if err := identity.SelfSignature.SignUserId(name, vendor.PrimaryKey, vendor.PrivateKey, &packet.Config{NonDeterministicSignaturesViaNotation: new(false)}); err != nil {
			t.Fatal(err)
		}
	}
	var b bytes.Buffer
	if err := vendor.Serialize(&b); err != nil {
		t.Fatal(err)
	}
	data, err := armored(openpgp.PublicKeyType, func(w io.Writer) error { _, err := w.Write(b.Bytes()); return err })
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// edVendor is a key that rpm of EL 8 and 9 cannot import.
func edVendor(t *testing.T) []byte {
	t.Helper()
	vendor, err := openpgp.NewEntity("Vendor", "", "v@example", &packet.Config{Algorithm: packet.PubKeyAlgoEdDSA})
	if err != nil {
		t.Fatal(err)
	}
	data, err := armored(openpgp.PublicKeyType, vendor.Serialize)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// TestKeysOfServers: a key file can have keys that rpm of the servers cannot import. The bundle leaves them out and
// names them, because dnf would fail. If no key is left, the plan fails.
func TestKeysOfServers(t *testing.T) {
	good, ed, old := publicKey(t, aKey()), edVendor(t), oldVendor(t)
	const damaged = "-----BEGIN PGP PUBLIC KEY BLOCK-----\n\n!!\n-----END PGP PUBLIC KEY BLOCK-----\n"
	bank := cryptopolicy.Policy{OS: "el9", Version: "9.4", Surveyed: cryptopolicy.Surveyed{Name: "BANK"}}
	for name, c := range map[string]struct {
		file   []byte
		policy cryptopolicy.Policy
		keys   int // 0: the plan fails
		notice string
	}{
		"one key":           {good, cryptopolicy.Policy{}, 1, ""},
		"EdDSA first":       {append(bytes.Clone(ed), good...), cryptopolicy.Policy{}, 1, "rpm of db1 refuses it: its key is EdDSA, and rpm of EL 9 reads only RSA and DSA"},
		"SHA-1 last":        {append(bytes.Clone(good), old...), cryptopolicy.Policy{}, 1, "rpm of db1 refuses it: a self-signature is over SHA-1, which the crypto policy of EL 9 refuses"},
		"an unreadable key": {append(bytes.Clone(good), damaged...), cryptopolicy.Policy{}, 1, "left out a key without a readable fingerprint"},
		"SHA-1, which a policy of the site may permit": {append(bytes.Clone(good), old...), bank, 2, "rpm of db1 may refuse it: airgap cannot tell whether the crypto policy BANK of EL 9.4 permits SHA-1"},
		"only EdDSA": {ed, cryptopolicy.Policy{}, 0, "rpm of the servers accepts none of them: key "},
	} {
		w := web{}
		r := w.publish(t, "https://upstream/vendor", aKey(), pkg{nevra: "a-1-1.x86_64"})
		w["https://upstream/vendor/key.asc"] = c.file
		hosts := withBash()
		hosts[0].Policy = c.policy
		closure, err := Plan(t.Context(), w, Request{OS: "el9", Arch: "x86_64", Repositories: []Repository{r}, Install: []string{"a"}, Hosts: hosts})
		if c.keys == 0 {
			if err == nil || !strings.Contains(err.Error(), c.notice) {
				t.Errorf("%s: %v", name, err)
			}
			continue
		}
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		s := closure.Repositories[0]
		notices := strings.Join(s.KeyNotices(), "\n")
		if len(s.Keys()) != c.keys || !strings.Contains(notices, c.notice) || (notices == "") != (c.notice == "") {
			t.Errorf("%s: %d keys, %q", name, len(s.Keys()), notices)
		}
		files, err := closure.Repodata(aKey(), time.Now())
		if err != nil {
			t.Fatal(err)
		}
		if _, second := files[KeysDir+"/vendor-2.asc"]; second != (c.keys == 2) {
			t.Errorf("%s: the bundle has %v", name, slices.Sorted(maps.Keys(files)))
		}
	}
}

// TestMetadataOfLeftOutKey: metadata that a left out key signed is refused, and the error says why the key is left out.
func TestMetadataOfLeftOutKey(t *testing.T) {
	ring, err := ReadKeyring(publicKey(t, aKey()), publicKey(t, anotherKey()))
	if err != nil {
		t.Fatal(err)
	}
	ring.entities = ring.entities[:1]
	ring.leftOut = append(ring.leftOut, pgp.Unreadable{Fingerprint: anotherKey().Keyring().Fingerprints()[0], Reason: "rpm refuses it"})
	signed, err := anotherKey().DetachSign(strings.NewReader("x"), built)
	if err != nil {
		t.Fatal(err)
	}
	if err := ring.check(strings.NewReader("x"), signed); err == nil || !strings.Contains(err.Error(), "which is left out: rpm refuses it") {
		t.Errorf("got %v", err)
	}
}

// TestPoliciesOfHosts: a package is judged by the policies of the servers that need it.
func TestPoliciesOfHosts(t *testing.T) {
	strict, permits := cryptopolicy.Policy{OS: "el9"}, cryptopolicy.Policy{OS: "el9", Surveyed: cryptopolicy.Surveyed{SHA1: "yes"}}
	req := Request{OS: "el9", Hosts: []Installed{{Host: "a"}, {Host: "b", Policy: permits}, {Host: "c", Policy: strict}}, Assumed: []string{"d"}}
	all := req.targets()
	if len(all) != 2 || !slices.Equal(all[0].hosts, []string{"a", "c", "d"}) || !slices.Equal(all[1].hosts, []string{"b"}) {
		t.Fatalf("got %+v", all)
	}
	if only := all.of([]string{"b"}); len(only) != 1 || only[0].policy.SHA1 != "yes" {
		t.Errorf("for b: %+v", only)
	}
	if len(all.of(nil)) != 2 || len(all.of([]string{"b", "d"})) != 2 {
		t.Error("a policy is missing")
	}
	var refused *SignatureError
	c := &Closure{Repositories: []Searched{{Repository: Repository{Name: "r"}, keys: Keyring{entities: aKey().Keyring().entities, servers: all}}}}
	var b bytes.Buffer
	if err := BuildPackage(&b, spec("agent"), aKey()); err != nil {
		t.Fatal(err)
	}
	p := unsignedOf(t, b.Bytes(), true)
	data := p.with(map[uint32][]byte{rpmfile.TagHeaderRSA: signature(t, aKey(), crypto.SHA1, p.header)})
	one := Package{NEVRA: named(t, "agent-1.0-1.x86_64"), Repository: "r", Hosts: []string{"b"}}
	if err := c.Verify(one, bytes.NewReader(data)); err != nil {
		t.Errorf("only b needs it: %v", err)
	}
	one.Hosts = nil
	if err := c.Verify(one, bytes.NewReader(data)); !errors.As(err, &refused) || !strings.Contains(err.Error(), "rpm of a, c, d refuses it") {
		t.Errorf("all need it: %v", err)
	}
}

// TestNewest: a repository whose clock is ahead gives no signature of airgap from the future.
func TestNewest(t *testing.T) {
	c := &Closure{Packages: []Package{{built: built.Unix()}, {built: time.Now().AddDate(1, 0, 0).Unix()}}}
	limit := built.AddDate(0, 1, 0)
	if at := c.Newest(limit); !at.Equal(limit) {
		t.Errorf("got %v", at)
	}
	if at := (&Closure{Packages: c.Packages[:1]}).Newest(limit); !at.Equal(built) {
		t.Errorf("got %v, want %v", at, built)
	}
}
