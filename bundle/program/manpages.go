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

// ManPages has a page for root and each command below it that people use, by its name, such as
// airgap-registry-import.1. It makes them of the help texts, and changes those: root is of no other use
// afterwards. They are the same on every host: they name the month of at, and no user's directory.
func ManPages(root *cobra.Command, at time.Time) (map[string][]byte, error) {
	at = at.UTC()
	pages := map[string][]byte{}
	for _, cmd := range Documented(root) {
		inMarkdown(cmd)
		var page bytes.Buffer
		header := &doc.GenManHeader{Section: "1", Date: &at, Source: "airgap " + version.String(), Manual: "airgap"}
		if err := doc.GenMan(cmd, header, &page); err != nil {
			return nil, fmt.Errorf("make the manual page of %s: %w", cmd.CommandPath(), err)
		}
		// .TH and .EE switch hyphens on again, and lines filled up to both margins
		// are no way to show file names and flags.
		text := strings.NewReplacer("\n.SH NAME", "\n.nh\n.ad l\n.SH NAME", "\n.EE", "\n.EE\n.nh").Replace(page.String())
		pages[strings.ReplaceAll(cmd.CommandPath(), " ", "-")+".1"] = []byte(text)
	}
	return pages, nil
}

// Documented are cmd and all commands below it that are for people.
func Documented(cmd *cobra.Command) []*cobra.Command {
	all := []*cobra.Command{cmd}
	for _, sub := range cmd.Commands() {
		if sub.IsAvailableCommand() {
			all = append(all, Documented(sub)...)
		}
	}
	return all
}

// inMarkdown makes the texts of a command what the page is made of: Markdown,
// whose marks ours do not mean.
func inMarkdown(cmd *cobra.Command) {
	cmd.DisableAutoGenTag = true
	cmd.Short, cmd.Long = plainMark(cmd.Short), markdown(cmd.Long)
	for _, flags := range []*pflag.FlagSet{cmd.LocalNonPersistentFlags(), cmd.PersistentFlags()} {
		flags.VisitAll(func(f *pflag.Flag) {
			f.Usage = plainMark(f.Usage)
			if f.DefValue == site.DefaultKeyDir() {
				f.DefValue = "~/.config/airgap/keys"
			}
		})
	}
}

// markdown keeps paragraphs, and lines that begin with spaces as they are.
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

// plainMark has each mark stand for itself.
func plainMark(text string) string {
	return strings.NewReplacer(`\`, `\\`, "`", "\\`", "*", `\*`, "_", `\_`, "[", `\[`, "]", `\]`, "<", `\<`, ">", `\>`, "#", `\#`, "|", `\|`).Replace(text)
}

// zipped is what gzip makes of data, without a name or a time.
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
