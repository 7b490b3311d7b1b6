package lab

import (
	"cmp"
	"context"
	"os"

	"golang.org/x/crypto/ssh"
	"golang.org/x/term"
)

// Shell runs a login shell of the machine on the terminal of this process.
func (e *Emulated) Shell() error { return e.ssh.shell(context.Background()) }

func (h *sshHost) shell(ctx context.Context) error {
	session, err := h.session(ctx)
	if err != nil {
		return err
	}
	defer session.Close()
	session.Stdin, session.Stdout, session.Stderr = os.Stdin, os.Stdout, os.Stderr
	if in := int(os.Stdin.Fd()); term.IsTerminal(in) {
		before, err := term.MakeRaw(in)
		if err != nil {
			return err
		}
		defer term.Restore(in, before)
		width, height, err := term.GetSize(in)
		if err != nil {
			return err
		}
		if err := session.RequestPty(cmp.Or(os.Getenv("TERM"), "dumb"), height, width, ssh.TerminalModes{}); err != nil {
			return err
		}
	}
	if err := session.Shell(); err != nil {
		return err
	}
	return session.Wait()
}
