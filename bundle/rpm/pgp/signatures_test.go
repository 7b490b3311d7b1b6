package pgp

import (
	"bytes"
	"crypto"
	"encoding/binary"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/ProtonMail/go-crypto/openpgp"
	"github.com/ProtonMail/go-crypto/openpgp/packet"
)

const text = "metadata\n"

// signed is a signature of version 4 over text.
func signed(t testing.TB, by *openpgp.Entity, kind packet.SignatureType, h crypto.Hash, at time.Time) []byte {
	t.Helper()
	s := &packet.Signature{Version: 4, SigType: kind, PubKeyAlgo: by.PrivateKey.PubKeyAlgo, Hash: h, CreationTime: at, IssuerKeyId: &by.PrimaryKey.KeyId}
	sum := h.New()
	hashed := text
	if kind == packet.SigTypeText {
		hashed = strings.ReplaceAll(text, "\n", "\r\n")
	}
	sum.Write([]byte(hashed))
	if err := s.Sign(sum, by.PrivateKey, config(at)); err != nil {
		t.Fatal(err)
	}
	var b bytes.Buffer
	if err := s.Serialize(&b); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// signed3 is a signature of version 3 over text: the form of many packages of Red Hat and its rebuilds.
func signed3(t testing.TB, by *openpgp.Entity, h crypto.Hash, id uint8, at time.Time) []byte {
	t.Helper()
	suffix := binary.BigEndian.AppendUint32([]byte{0}, uint32(at.Unix()))
	sum := h.New()
	sum.Write([]byte(text))
	sum.Write(suffix)
	digest := sum.Sum(nil)
	signer := by.PrivateKey.PrivateKey.(crypto.Signer)
	value, err := signer.Sign(nil, digest, h)
	if err != nil {
		t.Fatal(err)
	}
	body := append([]byte{3, 5}, suffix...)
	body = binary.BigEndian.AppendUint64(body, by.PrimaryKey.KeyId)
	body = append(body, byte(packet.PubKeyAlgoRSA), id, digest[0], digest[1])
	for value[0] == 0 {
		value = value[1:]
	}
	bits := len(value) * 8
	for mask := byte(0x80); value[0]&mask == 0; mask >>= 1 {
		bits--
	}
	body = append(binary.BigEndian.AppendUint16(body, uint16(bits)), value...)
	var b bytes.Buffer
	if err := (&packet.OpaquePacket{Tag: tagSignature, Contents: body}).Serialize(&b); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// TestCheck verifies signatures as rpm reads them.
func TestCheck(t *testing.T) {
	at := made.Add(time.Hour)
	keys := openpgp.EntityList{vendor()}
	four := signed(t, vendor(), packet.SigTypeBinary, crypto.SHA256, at)
	three := signed3(t, vendor(), crypto.SHA256, 8, at)
	foreign := signed(t, other(), packet.SigTypeBinary, crypto.SHA256, at)
	for name, c := range map[string]struct {
		signatures [][]byte
		versions   []int
		wrong      string
	}{
		"version 4":                      {[][]byte{four}, []int{4}, ""},
		"version 3":                      {[][]byte{three}, []int{3}, ""},
		"version 3 over SHA-1":           {[][]byte{signed3(t, vendor(), crypto.SHA1, 2, at)}, []int{3}, ""},
		"armored":                        {[][]byte{armored(t, openpgp.SignatureType, four)}, []int{4}, ""},
		"over text":                      {[][]byte{signed(t, vendor(), packet.SigTypeText, crypto.SHA512, at)}, []int{4}, ""},
		"several in one file":            {[][]byte{append(bytes.Clone(foreign), four...)}, []int{4}, ""},
		"several":                        {[][]byte{three, foreign, four}, []int{3, 4}, ""},
		"an unknown version, and a good": {[][]byte{append(oddSignature(t), four...)}, []int{4}, ""},
		"another key":                    {[][]byte{foreign}, nil, "the signature is from another key"},
		"over other data":                {[][]byte{changed(four)}, nil, "RSA verification failure"},
		"over other data, version 3":     {[][]byte{changed(three)}, nil, "RSA verification failure"},
		"truncated version 3":            {[][]byte{three[:len(three)-200]}, nil, ""},
		"a key":                          {[][]byte{public(t, vendor())}, nil, "not over data"},
		"an error page":                  {[][]byte{[]byte("<html>")}, nil, ""},
		"none":                           {nil, nil, "it is not an OpenPGP signature"},
	} {
		got, err := Check(keys, strings.NewReader(text), c.signatures...)
		if (err == nil) != (c.versions != nil) || err != nil && !strings.Contains(err.Error(), c.wrong) {
			t.Errorf("%s: %v, want %q", name, err, c.wrong)
		}
		if len(got) != len(c.versions) {
			t.Errorf("%s: %d signatures are valid, want %d", name, len(got), len(c.versions))
			continue
		}
		for i, m := range got {
			if m.Signature.Version != c.versions[i] || !m.Signature.Created.Equal(at) || m.Signer.Bits != 2048 || len(m.Fingerprint) != 40 {
				t.Errorf("%s: %+v", name, m)
			}
		}
	}
	if _, err := Check(keys, strings.NewReader(text), foreign); !errors.Is(err, ErrUnknownKey) {
		t.Errorf("another key: %v", err)
	}
	if !Time(three).Equal(at) || !Time(armored(t, openpgp.SignatureType, four)).Equal(at) || !Time([]byte("<html>")).IsZero() {
		t.Error("the time of a signature is wrong")
	}
}

// changed returns the signature with another value.
func changed(signature []byte) []byte {
	other := bytes.Clone(signature)
	other[len(other)-1] ^= 1
	return other
}

// TestSubkeySigns: a subkey signs, and an expired or revoked primary key counts for it.
func TestSubkeySigns(t *testing.T) {
	lifetime := config(made)
	lifetime.KeyLifetimeSecs = 86400
	e := newKey("subkey", lifetime)
	if err := e.AddSigningSubkey(config(made)); err != nil {
		t.Fatal(err)
	}
	sub := e.Subkeys[len(e.Subkeys)-1]
	by := &openpgp.Entity{PrimaryKey: sub.PublicKey, PrivateKey: sub.PrivateKey}
	signature := signed(t, by, packet.SigTypeBinary, crypto.SHA256, made.Add(time.Hour))
	keys, wrong := ReadKeys(public(t, e))
	if len(keys) != 1 {
		t.Fatal(wrong)
	}
	got, err := Check(keys, strings.NewReader(text), signature)
	if err != nil {
		t.Fatal(err)
	}
	if m := got[0]; m.Signer.CannotSign || !m.Signer.Expires.Equal(made.Add(24*time.Hour)) || len(m.Primary.Bindings) < 2 {
		t.Errorf("%+v", m)
	}
}

// FuzzCheck: no signature panics, and no changed one is valid.
func FuzzCheck(f *testing.F) {
	keys := openpgp.EntityList{vendor()}
	good := signed(f, vendor(), packet.SigTypeBinary, crypto.SHA256, made)
	f.Add(good)
	f.Add(signed3(f, vendor(), crypto.SHA256, 8, made))
	f.Add(armored(f, openpgp.SignatureType, good))
	f.Fuzz(func(t *testing.T, data []byte) {
		if _, err := Check(keys, strings.NewReader(text+"."), data); err == nil {
			t.Error("a signature over other data is valid")
		}
		_ = Time(data)
	})
}
