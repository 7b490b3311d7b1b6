package program

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/cobra/doc"
	"github.com/spf13/pflag"

	"airgap.dev/airgap/cluster/site"
	"airgap.dev/airgap/internal/version"
)

// ManPages returns a man page for root and each command below it that users run, by
// file name, such as airgap-registry-import.1. It changes the help texts of root, so do
// not use root afterwards. The pages are the same on every host: they contain the month
// of at, and no home directory.
func ManPages(root *cobra.Command, at time.Time) (map[string][]byte, error) {
	at = at.UTC()
	pages := map[string][]byte{}
	for _, cmd := range Documented(root) {
		inMarkdown(cmd)
		var page bytes.Buffer
		header := &doc.GenManHeader{Section: "1", Date: &at, Source: "airgap " + version.String(), Manual: "airgap"}
		if err := doc.GenMan(cmd, header, &page); err != nil {
			return nil, fmt.Errorf("make the man page of %s: %w", cmd.CommandPath(), err)
		}
		// .TH and .EE switch hyphenation on again. File names and flags must not be hyphenated
		// or justified.
		text := strings.NewReplacer("\n.SH NAME", "\n.nh\n.ad l\n.SH NAME", "\n.EE", "\n.EE\n.nh").Replace(page.String())
		pages[strings.ReplaceAll(cmd.CommandPath(), " ", "-")+".1"] = []byte(text)
	}
	return pages, nil
}

// Documented returns cmd and all commands below it that are for users.
func Documented(cmd *cobra.Command) []*cobra.Command {
	all := []*cobra.Command{cmd}
	for _, sub := range cmd.Commands() {
		if sub.IsAvailableCommand() {
			all = append(all, Documented(sub)...)
		}
	}
	return all
}

// inMarkdown converts the texts of a command to Markdown, the input for the pages. The
// help texts are plain text, so their Markdown characters are escaped.
func inMarkdown(cmd *cobra.Command) {
	cmd.DisableAutoGenTag = true
	cmd.Short, cmd.Long = plainMark(cmd.Short), markdown(cmd.Long)
	for _, flags := range []*pflag.FlagSet{cmd.LocalNonPersistentFlags(), cmd.PersistentFlags()} {
		flags.VisitAll(func(f *pflag.Flag) {
			f.Usage = plainMark(f.Usage)
			if f.Name == "keys" && f.DefValue == site.DefaultKeyDir() {
				f.DefValue = "~/.config/airgap/keys"
			}
		})
	}
}

// markdown keeps paragraphs, and lines that start with spaces as they are.
func markdown(text string) string {
	const fence = "```"
	var b strings.Builder
	inside := false
	for line := range strings.Lines(text + "\n") {
		indented := strings.HasPrefix(line, "  ")
		if indented != inside && (indented || line != "\n") {
			b.WriteString("\n" + fence + "\n")
			inside = indented
		}
		if !inside {
			line = plainMark(line)
		}
		b.WriteString(line)
	}
	if inside {
		b.WriteString(fence + "\n")
	}
	return b.String()
}

// plainMark escapes the characters with a meaning in Markdown.
func plainMark(text string) string {
	return strings.NewReplacer(`\`, `\\`, "`", "\\`", "*", `\*`, "_", `\_`, "[", `\[`, "]", `\]`, "<", `\<`, ">", `\>`, "#", `\#`, "|", `\|`).Replace(text)
}

// zipped compresses data with gzip, without a name or a time.
func zipped(data []byte) ([]byte, error) {
	var b bytes.Buffer
	w, err := gzip.NewWriterLevel(&b, gzip.BestCompression)
	if err != nil {
		return nil, err
	}
	if _, err := w.Write(data); err != nil {
		return nil, err
	}
	if err := w.Close(); err != nil {
		return nil, err
	}
	return b.Bytes(), nil
}
