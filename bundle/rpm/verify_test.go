package rpm

import (
	"bytes"
	"encoding/binary"
	"errors"
	"strings"
	"testing"

	"airgap.dev/airgap/bundle/rpm/rpmfile"
	"airgap.dev/airgap/internal/nevra"
)

func aPackage(t testing.TB) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := BuildPackage(&b, spec("agent"), aKey()); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func TestVerifyPackage(t *testing.T) {
	good := aPackage(t)
	want := nevra.NEVRA{Name: "agent", EVR: nevra.EVR{Version: "1.0", Release: "1"}, Arch: "x86_64"}
	unsigned := bytes.Clone(good)
	at := rpmfile.LeadSize + rpmfile.IntroSize
	for entries := binary.BigEndian.Uint32(good[rpmfile.LeadSize+8:]); entries > 0; entries, at = entries-1, at+rpmfile.EntrySize {
		// Change every tag of the signature header.
		binary.BigEndian.PutUint32(unsigned[at:], 9000+entries)
	}
	change := func(offset int) []byte {
		data := bytes.Clone(good)
		data[offset] ^= 1
		return data
	}
	nameAt := bytes.Index(good[rpmfile.LeadSize+200:], []byte("agent")) + rpmfile.LeadSize + 200
	older := want
	older.Version = "0.9"
	tests := []struct {
		name    string
		data    []byte
		want    nevra.NEVRA
		keys    Keyring
		refusal string
	}{
		{"valid", good, want, aKey().Keyring(), ""},
		{"signed by another key", good, want, anotherKey().Keyring(), "not from a configured key"},
		{"another package", good, older, aKey().Keyring(), "the file is agent-0:1.0-1.x86_64"},
		{"payload changed", change(len(good) - 1), want, aKey().Keyring(), "payload is damaged"},
		{"truncated payload", good[:len(good)-1], want, aKey().Keyring(), "payload is damaged"},
		{"name changed", change(nameAt), want, aKey().Keyring(), "agent-0:1.0-1.x86_64"},
		{"not signed", unsigned, want, aKey().Keyring(), "it is not signed"},
		{"no keys", good, want, Keyring{}, "not from a configured key"},
		{"truncated header", good[:rpmfile.LeadSize+100], want, aKey().Keyring(), "damaged"},
		{"not an RPM", []byte("<html>"), want, aKey().Keyring(), "not an RPM file"},
		{"empty", nil, want, aKey().Keyring(), "not an RPM file"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			err := VerifyPackage(bytes.NewReader(tt.data), tt.want, tt.keys)
			if tt.refusal == "" {
				if err != nil {
					t.Error(err)
				}
				return
			}
			var refused *SignatureError
			if !errors.As(err, &refused) || !strings.Contains(err.Error(), tt.refusal) {
				t.Errorf("got %v, want %q", err, tt.refusal)
			}
		})
	}
}
