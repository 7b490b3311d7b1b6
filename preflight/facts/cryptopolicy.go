package facts

import (
	"context"

	"airgap.dev/airgap/internal/cryptopolicy"
)

// readCryptoPolicy reads the files that update-crypto-policies(8) has written.
func readCryptoPolicy(_ context.Context, r reader, f *Facts) error {
	texts := map[string]string{}
	for _, file := range cryptopolicy.Files() {
		text, err := r.optional(file)
		if err != nil {
			return err
		}
		texts[file] = text
	}
	f.Crypto = cryptopolicy.Read(texts)
	return nil
}
