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

// mark is Helm's separator: a line that starts with "---" starts a document, with any text
// after it.
var mark = regexp.MustCompile(`(?m)^---[ \t]*`)

// split splits the text of a template as Helm's SplitManifests does, but with line numbers.
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

// installed returns the documents of a template that Helm applies at an installation, and
// notices about ignored documents. It omits documents for tests, upgrades and removals.
func installed(file, text string) (all []workload.Document, notices []string, err error) {
	for _, d := range split(file, text) {
		d, rest := uptoEnd(d)
		if rest > 0 {
			notices = append(notices, fmt.Sprintf("%s, line %d: airgap ignores the text after the line \"...\", as Helm does", d.At(), rest))
		}
		wanted, unknown, err := isInstalled(d)
		if err != nil {
			return nil, nil, err
		}
		if unknown != "" {
			notices = append(notices, fmt.Sprintf("%s: airgap ignores this document, as Helm does, because of the unknown hook %q", d.At(), unknown))
		}
		if wanted {
			all = append(all, d)
		}
	}
	return all, notices, nil
}

// uptoEnd truncates a document at the end mark of YAML, as Helm's parser does. rest is the
// line of the text after it, 0 if there are only comments.
func uptoEnd(d workload.Document) (truncated workload.Document, rest int) {
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

// hooks returns the hook events of Helm.
func hooks() []string {
	return []string{
		"pre-install", "post-install", "pre-delete", "post-delete", "pre-upgrade", "post-upgrade",
		"pre-rollback", "post-rollback", "test", "test-success",
	}
}

// isInstalled reads the head of a document as Helm does. unknown is a hook that Helm does not
// support, so that it ignores the document.
func isInstalled(d workload.Document) (is bool, unknown string, err error) {
	if err := workload.CheckAliases(d.Text); err != nil {
		return false, "", fmt.Errorf("%s: %w", d.At(), err)
	}
	var head releaseutil.SimpleHead
	if err := yaml.Unmarshal(d.Text, &head); err != nil {
		return false, "", fmt.Errorf("%s: parse as YAML, from line %d of the rendered template: %s", d.At(), d.Line, oneLine(err.Error()))
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

// isManifest returns false for notes and for files with named templates.
func isManifest(name string) bool {
	return !strings.HasSuffix(name, "NOTES.txt") && !strings.HasPrefix(path.Base(name), "_")
}

// oneLine joins the lines of a library's error.
func oneLine(text string) string { return strings.Join(strings.Fields(text), " ") }
