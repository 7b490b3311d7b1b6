package parts

import (
	"io"
	"path/filepath"

	"airgap.dev/airgap/bundle"
	"airgap.dev/airgap/internal/host"
)

// joinSignatures adds the signatures of earlier media to those of this medium, and keeps all of them in the directory:
// a later medium may lack the signature of the second person, or its gate may have changed it.
func (c *collector) joinSignatures() error {
	earlier := c.keptSignature()
	if c.isTrusted(earlier) && (!c.isTrusted(c.Files[bundle.SignatureName]) || c.isBuilders(earlier)) {
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

// isBuilders reports whether the key of the bundle made the signature. A medium may have that of the second person under the
// same name: it is not secret, and it would take the place of the builder's.
func (c *collector) isBuilders(signature []byte) bool {
	builder := bundle.PublicKeysOf(map[string][]byte{bundle.PublicKeyName: c.Files[bundle.PublicKeyName]})
	files := map[string][]byte{bundle.SumsName: c.Files[bundle.SumsName], bundle.SignatureName: signature}
	return len(bundle.SignersOf(files, builder...)) > 0
}

// isTrusted reports whether a trusted key made the signature.
func (c *collector) isTrusted(signature []byte) bool {
	files := map[string][]byte{bundle.SumsName: c.Files[bundle.SumsName], bundle.SignatureName: signature}
	return len(bundle.SignersOf(files, c.trusted...)) > 0
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
