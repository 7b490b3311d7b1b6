package lab

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"io/fs"
	"strings"
)

// PutFile writes the content of r to an absolute path on m, and makes missing directories.
// It replaces an existing file by a rename, so the file may be a running program.
func PutFile(ctx context.Context, m Machine, path string, mode fs.FileMode, r io.Reader) error {
	const script = `set -e; mkdir -p "$(dirname "$1")"; (umask 077; cat >"$1.new"); chmod "$2" "$1.new"; mv "$1.new" "$1"`
	cmd := Cmd{Args: []string{"sh", "-c", script, "sh", path, fmt.Sprintf("%o", mode.Perm())}, Stdin: r}
	if err := m.Exec(ctx, cmd); err != nil {
		return fmt.Errorf("put %s: %w", path, err)
	}
	return nil
}

// GetFile copies the file at an absolute path on m to w.
func GetFile(ctx context.Context, m Machine, path string, w io.Writer) error {
	if err := m.Exec(ctx, Cmd{Args: []string{"cat", path}, Stdout: w}); err != nil {
		return fmt.Errorf("get %s: %w", path, err)
	}
	return nil
}

// Output runs args on m and returns their stdout, without the last line end. It also
// returns the output with an error.
func Output(ctx context.Context, m Machine, args ...string) (string, error) {
	var out bytes.Buffer
	err := m.Exec(ctx, Cmd{Args: args, Stdout: &out})
	return strings.TrimSuffix(out.String(), "\n"), err
}
