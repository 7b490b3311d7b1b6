package program

import (
	"context"
	"fmt"
	"io"

	"airgap.dev/airgap/cluster/site"
	"airgap.dev/airgap/internal/advice"
	"airgap.dev/airgap/internal/ui"
)

// CosignOptions name the bundle and the key of a further person.
type CosignOptions struct {
	Dir      string     // of the bundle
	Required []string   // files or fingerprints: one of these keys must have signed the bundle; none: the keys that this host trusts
	Keys     KeyOptions // of the person who signs; the RPM key is not used
	Progress ui.Progress
}

// Cosigned is the result of Cosign.
type Cosigned struct {
	Dir   string `json:"dir"`
	Key   string `json:"key"`   // fingerprint
	Added bool   `json:"added"` // false: the key had signed the bundle already
}

// Cosign verifies every byte of a bundle, and adds the signature of another person.
func Cosign(ctx context.Context, o CosignOptions) (*Cosigned, error) {
	keys, err := CheckKeys(ctx, o.Keys)
	if err != nil {
		return nil, err
	}
	if keys.Bundle == nil {
		return nil, advice.Add(fmt.Errorf("sign bundle %s: %s has no key", o.Dir, o.Keys.Dir), "name your key with --sign-key, or its directory with --keys; the key of another person does not count twice")
	}
	b, err := site.OpenToSign(o.Dir, o.Required)
	if err != nil {
		return nil, err
	}
	defer b.Close()
	if err := b.Verify(ctx, o.Progress); err != nil {
		return nil, err
	}
	added, err := b.Cosign(keys.Bundle)
	if err != nil {
		return nil, keys.Pending(err)
	}
	return &Cosigned{o.Dir, keys.Fingerprint(), added}, nil
}

// Write reports the signature and the next step.
func (c *Cosigned) Write(w io.Writer) error {
	what := "added the signature of"
	if !c.Added {
		what = "nothing was written; it has the signature of"
	}
	_, err := fmt.Fprintf(w, "%s: %s %s\n  next: the servers must trust both keys, and require them with approval.keys in airgap.yaml or --require-keys 2\n", c.Dir, what, c.Key)
	return err
}
