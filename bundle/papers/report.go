// Package papers writes the documents about a bundle for the people that approve it: the
// report, and the SBOM of a bundle or of airgap's programs.
package papers

import (
	"bytes"
	_ "embed"
	"fmt"
	"html/template"
	"time"

	"airgap.dev/airgap/bundle"
	"airgap.dev/airgap/internal/ui"
)

// ReportName is the report about a bundle: contents, versions, licences, digests,
// origins and signers.
const ReportName = "report.html"

//go:embed report.html.tmpl
var reportTemplate string

// Report is one self-contained page that a security team can read and print. key is the
// fingerprint of the key that signs the bundle.
func Report(p *bundle.Plan, key string) ([]byte, error) {
	t, err := template.New(ReportName).Funcs(template.FuncMap{"size": ui.Size, "day": func(t time.Time) string { return t.Format(time.DateOnly) }}).Parse(reportTemplate)
	if err != nil {
		return nil, err
	}
	var b bytes.Buffer
	err = t.Execute(&b, map[string]any{
		"Name": p.Name, "Tool": p.Tool, "Key": key, "Lock": p.Lock, "Secrets": p.Secrets, "Notices": p.Notices, "Warnings": p.Warnings, "Remarks": p.Remarks, "Operators": p.Operators, "Newest": p.Newest(), "Bytes": p.Lock.Bytes(),
		"Base": p.Base, "BaseBytes": p.Base.Bytes(), "There": p.Left(), "Origins": Origins(p.Lock),
	})
	if err != nil {
		return nil, fmt.Errorf("write %s: %w", ReportName, err)
	}
	return []byte(ui.Escape(b.String())), nil
}
