package rpm

import (
	"context"
	"fmt"

	"airgap.dev/airgap/bundle/rpm/markup"
)

// metadata is a verified metadata file as fetched.
type metadata struct {
	name string
	data []byte
}

// each calls f with the bytes of every <package> element, as UTF-8. The slice is valid until f returns.
func (m metadata) each(ctx context.Context, f func(element []byte) error) error {
	_, err := m.read(ctx, f)
	return err
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
