package program

import (
	"bytes"
	"io"
	"io/fs"
	"time"

	"github.com/spf13/cobra"

	"airgap.dev/airgap"
	"airgap.dev/airgap/bundle/rpm"
)

// Documentation returns the files of airgap.rpm for users: the man pages, the shell
// completions and the licence. Other packages own their directories too; airgap.rpm
// owns them in case those packages are not installed.
func Documentation(commands func() *cobra.Command, at time.Time) ([]rpm.File, error) {
	const licenses = "/usr/share/licenses/airgap"
	files := []rpm.File{
		{Path: "/usr/share/licenses", Mode: fs.ModeDir | 0o755},
		{Path: licenses, Mode: fs.ModeDir | 0o755},
		{Path: licenses + "/LICENSE", Data: airgap.License, Mode: 0o644, License: true},
		{Path: licenses + "/THIRD-PARTY", Data: airgap.ThirdParty(), Mode: 0o644, License: true},
	}
	pages, err := ManPages(commands(), at)
	if err != nil {
		return nil, err
	}
	for name, page := range pages {
		data, err := zipped(page)
		if err != nil {
			return nil, err
		}
		files = append(files, rpm.File{Path: "/usr/share/man/man1/" + name + ".gz", Data: data, Mode: 0o644, Doc: true})
	}
	for _, dir := range []string{"bash-completion", "bash-completion/completions", "zsh", "zsh/site-functions", "fish", "fish/vendor_completions.d"} {
		files = append(files, rpm.File{Path: "/usr/share/" + dir, Mode: fs.ModeDir | 0o755})
	}
	root := commands()
	for path, write := range map[string]func(io.Writer) error{
		"bash-completion/completions/airgap": func(w io.Writer) error { return root.GenBashCompletionV2(w, true) },
		"zsh/site-functions/_airgap":         root.GenZshCompletion,
		"fish/vendor_completions.d/airgap.fish": func(w io.Writer) error {
			return root.GenFishCompletion(w, true)
		},
	} {
		var script bytes.Buffer
		if err := write(&script); err != nil {
			return nil, err
		}
		files = append(files, rpm.File{Path: "/usr/share/" + path, Data: script.Bytes(), Mode: 0o644})
	}
	return files, nil
}
