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

// Receipt describes the contents of a receipt and its signer.
type Receipt struct {
	File      string   `json:"file"`
	Authority string   `json:"authority"` // value for --receipt-key of airgap bundle
	Bundles   []string `json:"bundles"`
	Files     int      `json:"files"`
}

// WriteReceipt writes the list of the contents of bundles to file and signs it with the
// key of the registry CA in pki. Only root on a control-plane host can read this key.
// Bundles that could not be opened are not in the list, so a delta contains their files
// again.
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
		return Receipt{}, advice.Add(err, "run the command as root on a control-plane host, which has the key of the registry CA")
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
		r.File, ui.Count(r.Files, "file"), ui.Count(len(r.Bundles), "bundle"), r.Authority, ui.Quote(r.File), r.Authority)
	return err
}
