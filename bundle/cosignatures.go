package bundle

import (
	"bytes"
	"crypto"
	"crypto/ecdsa"
	"crypto/sha256"
	"encoding/pem"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"

	"airgap.dev/airgap/internal/host"
)

// CosignaturesName has the signatures of further persons on SHA256SUMS: for each a PEM
// block with the public key, and one with the signature. SHA256SUMS cannot list it.
const CosignaturesName = "SHA256SUMS.cosigned"

const (
	cosignatureBlock = "AIRGAP SIGNATURE"
	maxCosignatures  = 64 << 10 // bytes, of the file
)

// cosignature is one further signature. Its key is only a claim until a caller trusts it.
type cosignature struct {
	key       *ecdsa.PublicKey
	signature []byte
}

// parseCosignatures ignores everything that is no signature. A gate that alters the file
// makes it worthless, but does not make a bundle unreadable that needs one signature.
func parseCosignatures(text []byte) []cosignature {
	var all []cosignature
	var key *ecdsa.PublicKey
	for block, rest := pem.Decode(text); block != nil; block, rest = pem.Decode(rest) {
		switch block.Type {
		case "PUBLIC KEY":
			key, _ = parsePublicKey(pem.EncodeToMemory(block)) // without a key, its signature is skipped
		case cosignatureBlock:
			if key != nil {
				all = append(all, cosignature{key, block.Bytes})
			}
			key = nil
		}
	}
	return all
}

func (c cosignature) encode() ([]byte, error) {
	public, err := MarshalPublicKey(c.key)
	return append(public, pem.EncodeToMemory(&pem.Block{Type: cosignatureBlock, Bytes: c.signature})...), err
}

// readCosignatures returns nil if there are none.
func readCosignatures(source fs.FS) ([]byte, error) {
	text, err := readLimited(source, CosignaturesName, maxCosignatures)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	return text, err
}

// cosignaturesIn reads CosignaturesName in dir, the directory of a bundle; nil if there is none.
func cosignaturesIn(dir string) ([]byte, error) {
	source, err := openFolder(dir)
	if err != nil {
		return nil, err
	}
	defer source.root.Close()
	return readCosignatures(source)
}

// MergeCosignatures is mergeCosignatures with the signatures in dir. A file in dir that cannot be read has none.
func MergeCosignatures(dir string, sums []byte, first []*ecdsa.PublicKey, texts ...[]byte) []byte {
	there, _ := cosignaturesIn(dir)
	return mergeCosignatures(sums, first, append([][]byte{there}, texts...)...)
}

// mergeCosignatures returns the content of CosignaturesName with the signatures on sums in all texts, one of each key;
// empty without any. If there are too many for the file, those of the first keys stay: a medium cannot displace them.
func mergeCosignatures(sums []byte, first []*ecdsa.PublicKey, texts ...[]byte) (merged []byte) {
	digest := sha256.Sum256(sums)
	var all []cosignature
	for _, text := range texts { // one by one: a cut text must not swallow the start of the next one
		all = append(all, parseCosignatures(text)...)
	}
	all = slices.DeleteFunc(all, func(c cosignature) bool { return !ecdsa.VerifyASN1(c.key, digest[:], c.signature) })
	isFirst := func(c cosignature) bool {
		return slices.ContainsFunc(first, func(k *ecdsa.PublicKey) bool { return k.Equal(c.key) })
	}
	for _, wanted := range []bool{true, false} {
		for i, c := range all {
			again := slices.ContainsFunc(all[:i], func(o cosignature) bool { return o.key.Equal(c.key) })
			one, err := c.encode()
			if !again && err == nil && isFirst(c) == wanted && len(merged)+len(one) <= maxCosignatures {
				merged = append(merged, one...)
			}
		}
	}
	return merged
}

// SignersOf returns the trusted keys that signed SHA256SUMS, each once. files are the
// files of a signed index, by name.
func SignersOf(files map[string][]byte, trusted ...*ecdsa.PublicKey) []*ecdsa.PublicKey {
	digest := sha256.Sum256(files[SumsName])
	signatures := [][]byte{files[SignatureName]}
	for _, c := range parseCosignatures(files[CosignaturesName]) {
		signatures = append(signatures, c.signature)
	}
	var all []*ecdsa.PublicKey
	for _, key := range trusted {
		signed := slices.ContainsFunc(signatures, func(s []byte) bool { return ecdsa.VerifyASN1(key, digest[:], s) })
		if signed && !slices.ContainsFunc(all, func(k *ecdsa.PublicKey) bool { return k.Equal(key) }) {
			all = append(all, key)
		}
	}
	return all
}

// Signers are SignersOf of the bundle.
func (b *Bundle) Signers(trusted ...*ecdsa.PublicKey) []*ecdsa.PublicKey {
	return SignersOf(b.signed, trusted...)
}

// Cosign adds the signature of another key to the bundle, in its directory. added is
// false if the key has signed it already.
func (b *Bundle) Cosign(key crypto.Signer) (added bool, err error) {
	public := PublicOf(key)
	if public == nil {
		return false, errors.New("sign bundle: want an ECDSA key")
	}
	if len(b.Signers(public)) > 0 {
		return false, nil
	}
	signature, err := sign(key, b.signed[SumsName])
	if err != nil {
		return false, fmt.Errorf("sign bundle %s: %w", b.dir, err)
	}
	own, err := cosignature{public, signature}.encode()
	if err != nil {
		return false, err
	}
	text := mergeCosignatures(b.signed[SumsName], append(slices.Clone(b.trusted), public), b.signed[CosignaturesName], own)
	if err := writeStick(filepath.Join(b.dir, CosignaturesName), 0o644, bytes.NewReader(text)); err != nil {
		return false, err
	}
	b.signed[CosignaturesName] = text
	return true, host.SyncDir(b.dir)
}
