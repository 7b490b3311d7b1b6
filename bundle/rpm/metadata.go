package rpm

import (
	"context"
	"fmt"

	"airgap.dev/airgap/bundle/rpm/markup"
	"airgap.dev/airgap/internal/advice"
)

// metadata is a verified metadata file as fetched.
type metadata struct {
	name string // URL, or path in a bundle
	data []byte
}

// each calls f with the bytes of every <package> element, as UTF-8. The slice is valid until f returns.
func (m metadata) each(ctx context.Context, f func(element []byte) error) error {
	_, err := m.read(ctx, f)
	return err
}

// read is metadata.read. If the content is the reason of an error, it adds the next step.
func (s *source) read(ctx context.Context, m metadata, f func(element []byte) error) (*markup.Document, error) {
	d, err := m.read(ctx, f)
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	return d, unusable(err)
}

// unusable adds the next step to an error about metadata as its repository publishes it.
func unusable(err error) error {
	return advice.Add(err, "try again later, because the repository may be incomplete at the moment; use another mirror; "+
		"or ask the operator of the repository to create the metadata with createrepo_c")
}

// read is each. It also returns the other findings in the file.
func (m metadata) read(ctx context.Context, f func(element []byte) error) (*markup.Document, error) {
	r, err := decompress(ctx, m.name, m.data, maxOpen)
	if err != nil {
		return nil, err
	}
	d, err := markup.Read(r, f)
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", m.name, err)
	}
	return d, nil
}
