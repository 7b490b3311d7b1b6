package pieces

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"hash"

	"airgap.dev/airgap/internal/advice"
)

// verifier compares the SHA-256 of each file that passes as a whole and in order.
type verifier struct {
	m    *manifest
	next int64     // offset of the byte behind the last one
	sum  hash.Hash // of the current file; nil if its start did not pass
}

// add takes the next bytes of the stream; a gap before off leaves out the file with the gap.
func (v *verifier) add(p []byte, off int64) error {
	if off != v.next {
		v.sum = nil
	}
	v.next = off + int64(len(p))
	for i, f := range v.m.Files { // few files: a bundle has some dozens
		start, end := v.m.start[i], v.m.start[i]+f.Size
		from, to := max(start, off), min(end, v.next)
		if from >= to {
			continue
		}
		if from == start {
			v.sum = sha256.New()
		}
		if v.sum == nil {
			continue
		}
		v.sum.Write(p[from-off : to-off])
		if to < end {
			continue
		}
		sum := v.sum.Sum(nil)
		v.sum = nil
		if want, err := hex.DecodeString(f.SHA256); err != nil || !bytes.Equal(sum, want) {
			return advice.Add(fmt.Errorf("%s does not have the SHA-256 in SHA256SUMS: the disk, an editor or a virus scanner changed it", f.Name),
				"run the same airgap bundle again: it restores the bundle; then run airgap pack again")
		}
	}
	return nil
}
