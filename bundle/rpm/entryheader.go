package rpm

import (
	"context"
	"fmt"
	"io"

	"airgap.dev/airgap/bundle/rpm/rpmfile"
)

// readEntryHeader reads the header of a package from its repository. It does not verify it: the caller only compares
// files, and airgap verifies each package before it writes the bundle.
func readEntryHeader(ctx context.Context, e *entry) (*rpmfile.Header, error) {
	body, _, err := e.source.fetch.Open(ctx, e.from(), 0)
	if err != nil {
		return nil, err
	}
	defer func() { _ = body.Close() }()
	_, h, err := rpmfile.Read(io.LimitReader(body, rpmfile.MaxHeaders))
	if err != nil {
		return nil, fmt.Errorf("read the header of %s: %w", e, err)
	}
	if got := h.NEVRA(); got != e.NEVRA {
		return nil, fmt.Errorf("read the header of %s: the file is %s", e, got)
	}
	return h, nil
}
