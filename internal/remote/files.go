package remote

import (
	"bytes"
	"context"
	"io"
	"strconv"
)

// File is a file in the working directory of a command.
type File struct {
	Name string // plain
	Data []byte
}

// inDirectory takes NAME SIZE pairs up to "--", reads the files from stdin
// into a directory that only root can read, and runs the rest there. The
// directory goes when the command has ended, and also when the connection is
// lost on the way: the traps come before the directory, and no signal ends rm.
// One that a power cut left goes after a day: no command takes that long.
// It goes through a session and not SFTP, which sites switch off.
const inDirectory = `set -eu
umask 077
find /var/tmp -maxdepth 1 -type d -user root -name 'airgap-ssh.??????' -mmin +1440 -exec rm -rf {} + || :
dir=
trap 'trap "" HUP INT TERM; rm -rf "$dir"' EXIT
trap 'exit 130' HUP INT TERM
dir=$(mktemp -d /var/tmp/airgap-ssh.XXXXXX)
cd "$dir"
while [ "$1" != -- ]; do
	head -c "$2" >"$1"
	[ "$(wc -c <"$1")" -eq "$2" ] || { echo "$1 came only in part" >&2; exit 1; }
	shift 2
done
shift
"$@"`

// RunWith runs a command in a temporary directory with these files and removes
// the directory afterwards. Stdin after the files belongs to the command.
func (c *Client) RunWith(ctx context.Context, files []File, cmd Command) error {
	args := []string{"sh", "-c", inDirectory, "sh"}
	var stdin []io.Reader
	for _, f := range files {
		args = append(args, f.Name, strconv.Itoa(len(f.Data)))
		stdin = append(stdin, bytes.NewReader(f.Data))
	}
	if cmd.Stdin != nil {
		stdin = append(stdin, cmd.Stdin)
	}
	whole := cmd
	whole.Args, whole.Stdin = append(append(args, "--"), cmd.Args...), io.MultiReader(stdin...)
	return as(c.Run(ctx, whole), cmd.Args)
}

// as names the command that was asked for in the error of the one that ran it.
func as(err error, args []string) error {
	if exit, is := err.(*ExitError); is { //nolint:errorlint // Run gives it as it is
		named := *exit
		named.Args = args
		return &named
	}
	return err
}
