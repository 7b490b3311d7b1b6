package signing

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"time"

	"airgap.dev/airgap/internal/host"
)

const (
	maxSignature = 4096            // bytes; a signature of RSA-8192 has 1024
	programLimit = 5 * time.Minute // a person may have to touch a token
)

// Program is the method that runs a program on this host for each signature. It gets the
// input on stdin and prints the signature. Variables say which key is meant.
func Program(ctx context.Context, path string) Method {
	return func(r Request) ([]byte, error) {
		ctx, cancel := context.WithTimeout(ctx, programLimit)
		defer cancel()
		out := &bounded{}
		cmd := host.Cmd{Name: path, Stdin: bytes.NewReader(r.Input), Stdout: out, Env: []string{
			"AIRGAP_SIGN_USE=" + r.Use, "AIRGAP_SIGN_ALGORITHM=" + r.Algorithm, "AIRGAP_SIGN_FINGERPRINT=SHA256:" + r.Fingerprint,
		}}
		_, err := host.Local{}.Run(ctx, cmd)
		switch {
		case out.over:
			return nil, fmt.Errorf("the program of --signer, %s, printed more than %d bytes: want only the signature", path, maxSignature)
		case err != nil:
			return nil, err
		case out.text.Len() == 0:
			return nil, fmt.Errorf("the program of --signer, %s, printed no signature", path)
		}
		return out.text.Bytes(), nil
	}
}

// bounded keeps an output of at most maxSignature bytes.
type bounded struct {
	text bytes.Buffer
	over bool
}

func (b *bounded) Write(p []byte) (int, error) {
	if b.text.Len()+len(p) > maxSignature {
		b.over = true
		return 0, io.ErrShortWrite
	}
	return b.text.Write(p)
}
