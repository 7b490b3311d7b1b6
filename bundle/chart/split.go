package chart

import (
	"bytes"
	"fmt"
	"path"
	"regexp"
	"slices"
	"strings"
	"unicode"

	releaseutil "helm.sh/helm/v4/pkg/release/v1/util"
	"sigs.k8s.io/yaml"

	"airgap.dev/airgap/bundle/workload"
)

// mark is Helm's: a line that begins with "---" begins a document, whatever is behind it.
var mark = regexp.MustCompile(`(?m)^---[ \t]*`)

// split cuts the text of a template where Helm's SplitManifests does, which reports no lines.
func split(file, text string) []workload.Document {
	start := strings.TrimLeftFunc(text, unicode.IsSpace)
	line := 1 + strings.Count(text[:len(text)-len(start)], "\n")
	marks := append(mark.FindAllStringIndex(start, -1), []int{len(start), len(start)})
	var all []workload.Document
	begin := 0
	for _, m := range marks {
		document := strings.TrimLeftFunc(start[begin:m[0]], unicode.IsSpace)
		first := line + strings.Count(start[begin:m[0]-len(document)], "\n")
		if document != "" {
			all = append(all, workload.Document{File: file, Number: len(all) + 1, Line: first, Text: []byte(document)})
		}
		line += strings.Count(start[begin:m[1]], "\n")
		begin = m[1]
	}
	return all
}

// installed are the documents of a template that Helm would apply when it installs the
// chart, and the notices about others. Those of tests, upgrades and removals are left out.
func installed(file, text string) (all []workload.Document, notices []string, err error) {
	for _, d := range split(file, text) {
		d, rest := uptoEnd(d)
		if rest > 0 {
			notices = append(notices, fmt.Sprintf("%s, line %d: text after the line \"...\" is left out, as by Helm", d.At(), rest))
		}
		wanted, unknown, err := isInstalled(d)
		if err != nil {
			return nil, nil, err
		}
		if unknown != "" {
			notices = append(notices, fmt.Sprintf("%s is left out, as by Helm, which knows no hook %q", d.At(), unknown))
		}
		if wanted {
			all = append(all, d)
		}
	}
	return all, notices, nil
}

// uptoEnd cuts a document at YAML's mark of its end, as Helm's parser does. rest is the line
// of the text after it, 0 for comments only.
func uptoEnd(d workload.Document) (cut workload.Document, rest int) {
	at, line, end := 0, d.Line, -1
	for text := range bytes.Lines(d.Text) {
		trimmed := bytes.TrimSpace(text)
		if end >= 0 && len(trimmed) > 0 && trimmed[0] != '#' && !bytes.Equal(trimmed, []byte("...")) {
			d.Text = d.Text[:end]
			return d, line
		}
		if end < 0 && bytes.HasPrefix(text, []byte("...")) && len(bytes.TrimLeft(text[3:], " \t\r\n")) == 0 {
			end = at
		}
		at, line = at+len(text), line+1
	}
	return d, 0
}

// hooks are the events that Helm knows.
func hooks() []string {
	return []string{
		"pre-install", "post-install", "pre-delete", "post-delete", "pre-upgrade", "post-upgrade",
		"pre-rollback", "post-rollback", "test", "test-success",
	}
}

// isInstalled reads the head of a document as Helm does. unknown is a hook that Helm does not
// know, for which it leaves the document out.
func isInstalled(d workload.Document) (is bool, unknown string, err error) {
	if err := workload.CheckAliases(d.Text); err != nil {
		return false, "", fmt.Errorf("%s: %w", d.At(), err)
	}
	var head releaseutil.SimpleHead
	if err := yaml.Unmarshal(d.Text, &head); err != nil {
		return false, "", fmt.Errorf("%s: read it as YAML, from line %d of the rendered template: %s", d.At(), d.Line, oneLine(err.Error()))
	}
	if head.Metadata == nil {
		return true, "", nil
	}
	events, hook := head.Metadata.Annotations["helm.sh/hook"]
	for event := range strings.SplitSeq(events, ",") {
		event = strings.ToLower(strings.TrimSpace(event))
		if hook && !slices.Contains(hooks(), event) {
			return false, event, nil
		}
		is = is || event == "pre-install" || event == "post-install"
	}
	return is || !hook, "", nil
}

// isManifest is false for notes and for files of named templates.
func isManifest(name string) bool {
	return !strings.HasSuffix(name, "NOTES.txt") && !strings.HasPrefix(path.Base(name), "_")
}

// oneLine joins the lines of an error of a library.
func oneLine(text string) string { return strings.Join(strings.Fields(text), " ") }
