package parts

import (
	"crypto/ecdsa"
	"io"
	"path/filepath"

	"airgap.dev/airgap/bundle"
	"airgap.dev/airgap/internal/host"
)

// joinSignatures adds the signatures of earlier media to those of this medium, and keeps all of them in the directory:
// a later medium may lack the signature of the second person, or its gate may have changed it.
func (c *collector) joinSignatures() error {
	earlier := c.keptSignature()
	// A medium may have the signature of the second person under the builder's name. It is not secret, and must not replace the
	// builder's.
	builder := bundle.PublicKeysOf(map[string][]byte{bundle.PublicKeyName: c.Files[bundle.PublicKeyName]})
	if c.signedBy(earlier, c.trusted) && (!c.signedBy(c.Files[bundle.SignatureName], c.trusted) || c.signedBy(earlier, builder)) {
		c.Files[bundle.SignatureName] = earlier
	}
	if err := host.WriteFile(filepath.Join(c.to, bundle.SignatureName), c.Files[bundle.SignatureName], 0o644); err != nil {
		return err
	}
	further := bundle.MergeCosignatures(c.to, c.Files[bundle.SumsName], c.trusted, c.Files[bundle.CosignaturesName])
	if len(further) == 0 {
		delete(c.Files, bundle.CosignaturesName)
		return nil
	}
	c.Files[bundle.CosignaturesName] = further
	return host.WriteFile(filepath.Join(c.to, bundle.CosignaturesName), further, 0o644)
}

// signedBy reports whether one of the keys made the signature.
func (c *collector) signedBy(signature []byte, keys []*ecdsa.PublicKey) bool {
	files := map[string][]byte{bundle.SumsName: c.Files[bundle.SumsName], bundle.SignatureName: signature}
	return len(bundle.SignersOf(files, keys...)) > 0
}

// keptSignature is SHA256SUMS.sig of an earlier medium, or nil.
func (c *collector) keptSignature() []byte {
	f, err := bundle.OpenIn(c.to, bundle.SignatureName)
	if err != nil {
		return nil
	}
	defer f.Close()
	const limit = 4096                                      // of a signature, in bytes
	text, _ := io.ReadAll(io.NewSectionReader(f, 0, limit)) // its key must have made all of it
	return text
}
