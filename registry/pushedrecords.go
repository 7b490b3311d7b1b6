package registry

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"

	"airgap.dev/airgap/internal/httpclient"
	"airgap.dev/airgap/registry/ledger"
)

// pushedPath is the path at which the other registries read the ledger.
const pushedPath = ledger.Path

// Pushed returns the records that changed since known, the ETag of an earlier answer; "" means all. The
// records are nil if there are none. An older registry always sends all. The second result is the new
// ETag. A registry without pushes returns an empty list. With an error, the records and the ETag are
// those of the pages that were read: the next call continues there.
func (c *Client) Pushed(ctx context.Context, known string) (ledger.Records, string, error) {
	var all ledger.Records
	for left := int64(maxRecords); ; {
		page, tag, size, err := c.pushedPage(ctx, known, left)
		if err != nil {
			return all, known, fmt.Errorf("read pushes of %s: %w", c.base, err)
		}
		if page == nil {
			return all, known, nil
		}
		if all == nil {
			all = ledger.Records{}
		}
		for at, record := range page.All() {
			all.Set(at, record)
		}
		known, left = tag, left-size
		if tag == "" {
			return all, "", nil
		}
	}
}

// pushedPage returns the next records, their ETag and the size of the answer, at most limit bytes. The
// records are nil if none changed since known.
func (c *Client) pushedPage(ctx context.Context, known string, limit int64) (ledger.Records, string, int64, error) {
	query := url.Values{ledger.AfterParameter: {strings.Trim(known, `"`)}}
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, c.base+pushedPath+"?"+query.Encode(), nil)
	if err != nil {
		return nil, "", 0, err
	}
	req.Header.Set("If-None-Match", known)
	resp, err := c.http.Do(req)
	if err != nil {
		return nil, "", 0, err
	}
	defer resp.Body.Close()
	switch resp.StatusCode {
	case http.StatusNotModified:
		return nil, known, 0, nil
	case http.StatusNotFound:
		return ledger.Records{}, "", 0, nil
	case http.StatusOK:
	default:
		return nil, "", 0, errors.New(resp.Status)
	}
	records := ledger.Records{}
	text, err := httpclient.ReadAll(resp.Body, limit)
	if err == nil {
		err = json.Unmarshal(text, &records)
	}
	return records, resp.Header.Get("ETag"), int64(len(text)), err
}
