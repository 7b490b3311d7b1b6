package lab

import (
	"bytes"
	"context"
	"fmt"
	"os/exec"
	"strings"
)

// outer runs a program on the outer machine. Its error contains the command and its
// complete output, which is short for the programs of the lab.
func outer(ctx context.Context, stdin string, args ...string) (string, error) {
	cmd := exec.CommandContext(ctx, args[0], args[1:]...)
	var out bytes.Buffer
	cmd.Stdin = strings.NewReader(stdin)
	cmd.Stdout, cmd.Stderr = &out, &out
	if err := cmd.Run(); err != nil {
		return out.String(), fmt.Errorf("%s: %w: %s", strings.Join(args, " "), err, bytes.TrimSpace(out.Bytes()))
	}
	return out.String(), nil
}
