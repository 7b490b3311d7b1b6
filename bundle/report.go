package bundle

import (
	"bytes"
	_ "embed"
	"fmt"
	"html/template"
	"time"

	"airgap.dev/airgap/internal/ui"
)

// ReportName is the page about a bundle for people: contents, versions,
// licences, digests, origins and what is signed by whom.
const ReportName = "report.html"

//go:embed report.html.tmpl
var reportTemplate string

// Report is one page that a security desk can read and print; it needs nothing
// but itself. key is the fingerprint of who signs the bundle.
func (p *Plan) Report(key string) ([]byte, error) {
	t, err := template.New(ReportName).Funcs(template.FuncMap{"size": ui.Size, "day": func(t time.Time) string { return t.Format(time.DateOnly) }}).Parse(reportTemplate)
	if err != nil {
		return nil, err
	}
	var b bytes.Buffer
	err = t.Execute(&b, map[string]any{
		"Name": p.Name, "Tool": p.Tool, "Key": key, "Lock": p.Lock, "Newest": p.newest(), "Bytes": p.Lock.bytes(),
	})
	if err != nil {
		return nil, fmt.Errorf("write %s: %w", ReportName, err)
	}
	return b.Bytes(), nil
}

// bytes is the size of everything, each blob once.
func (l Lock) bytes() int64 {
	var total int64
	seen := map[string]bool{}
	for _, i := range l.Images {
		for _, b := range i.Blobs {
			if !seen[b.Digest] {
				seen[b.Digest] = true
				total += b.Size
			}
		}
	}
	for _, one := range l.Packages {
		total += one.Size
	}
	for _, f := range l.Files {
		total += f.Size
	}
	return total
}

// Size is that of all blobs of the image.
func (i Image) Size() int64 {
	var total int64
	for _, b := range i.Blobs {
		total += b.Size
	}
	return total
}
