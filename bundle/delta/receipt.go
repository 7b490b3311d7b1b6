package delta

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"time"

	"airgap.dev/airgap/bundle"
	"airgap.dev/airgap/internal/advice"
	"airgap.dev/airgap/internal/host"
	"airgap.dev/airgap/internal/ui"
	"airgap.dev/airgap/registry/trust"
)

// Receipt says what a receipt covers, and who signed it.
type Receipt struct {
	File      string   `json:"file"`
	Authority string   `json:"authority"` // to be given to airgap bundle as --receipt-key
	Bundles   []string `json:"bundles"`
	Files     int      `json:"files"`
}

// WriteReceipt writes into file what the bundles hold, signed with the key of the registry's authority
// in pki, which only root of a control-plane host can read. It leaves out bundles that could not be
// opened: a delta brings them again.
func WriteReceipt(file string, pki trust.PKI, bundles []*bundle.Bundle) (Receipt, error) {
	here, err := os.Hostname()
	if err != nil {
		return Receipt{}, err
	}
	r, err := trust.NewReceipt(here, time.Now(), bundle.NewestFirst(bundles))
	if err != nil {
		return Receipt{}, err
	}
	text, authority, err := pki.SignReceipt(r)
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, fs.ErrPermission) {
		return Receipt{}, advice.Add(err, "receipts are signed with the key of the registry's authority: be root on a control-plane host")
	}
	if err != nil {
		return Receipt{}, err
	}
	if err := host.WriteFile(file, text, 0o644); err != nil {
		return Receipt{}, fmt.Errorf("write receipt: %w", err)
	}
	return Receipt{File: file, Authority: authority, Bundles: r.Bundles, Files: len(r.Files)}, nil
}

func (r Receipt) Write(w io.Writer) error {
	_, err := fmt.Fprintf(w, "%s: %s of %s\n  signed by %s\n  next, on the connected host: airgap bundle --delta-from %s --receipt-key %s\n",
		r.File, ui.Count(r.Files, "file"), ui.Count(len(r.Bundles), "bundle"), r.Authority, r.File, r.Authority)
	return err
}
