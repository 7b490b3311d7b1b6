package bundle

import (
	"bytes"
	_ "embed"
	"fmt"
	"html/template"
	"time"

	"github.com/google/go-containerregistry/pkg/v1/types"

	"airgap.dev/airgap/internal/ui"
)

// ReportName is the report about a bundle: contents, versions, licences, digests,
// origins and signers.
const ReportName = "report.html"

//go:embed report.html.tmpl
var reportTemplate string

// Report is one self-contained page that a security team can read and print. key is the
// fingerprint of the key that signs the bundle.
func (p *Plan) Report(key string) ([]byte, error) {
	t, err := template.New(ReportName).Funcs(template.FuncMap{"size": ui.Size, "day": func(t time.Time) string { return t.Format(time.DateOnly) }}).Parse(reportTemplate)
	if err != nil {
		return nil, err
	}
	var b bytes.Buffer
	err = t.Execute(&b, map[string]any{
		"Name": p.Name, "Tool": p.Tool, "Key": key, "Lock": p.Lock, "Secrets": p.Secrets, "Notices": p.Notices, "Warnings": p.Warnings, "Remarks": p.Remarks, "Operators": p.Operators, "Newest": p.newest(), "Bytes": p.Lock.Bytes(),
		"Base": p.Base, "BaseBytes": p.Base.bytes(), "There": p.left(),
	})
	if err != nil {
		return nil, fmt.Errorf("write %s: %w", ReportName, err)
	}
	return []byte(ui.Escape(b.String())), nil
}

// left returns the files that a delta omits, by path.
func (p *Plan) left() leftOut {
	l := leftOut{}
	for _, f := range p.Base.files() {
		l[f.Path] = true
	}
	return l
}

type leftOut map[string]bool

// Path reports whether the file at path is in the base.
func (l leftOut) Path(path string) bool { return l[path] }

// Image reports whether all layers of the image are in the base; its manifests are
// never in the base.
func (l leftOut) Image(i Image) bool {
	layers := 0
	for _, b := range i.Blobs {
		t := types.MediaType(b.MediaType)
		if t.IsIndex() || t.IsImage() {
			continue
		}
		if !l[BlobPath(b.Digest)] {
			return false
		}
		layers++
	}
	return layers > 0
}

// Bytes is the size of all locked items, each blob and each chart once.
func (l Lock) Bytes() int64 {
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
	for _, a := range l.applied() {
		total += a.Size
		if c := a.Chart; c != nil && !seen[c.Path] {
			seen[c.Path] = true
			total += c.Size
		}
	}
	return total
}

// Size is the size of all blobs of the image.
func (i Image) Size() int64 {
	var total int64
	for _, b := range i.Blobs {
		total += b.Size
	}
	return total
}
