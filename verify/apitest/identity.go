package apitest

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"os"
	"path/filepath"
)

// token is valid only for the servers of a test, which listen on loopback.
const token = "apitest"

// writeIdentity writes to dir the server's token file, and the key that signs ServiceAccount
// tokens.
func writeIdentity(dir string) error {
	users := token + `,apitest,apitest,"system:masters"` + "\n"
	if err := os.WriteFile(filepath.Join(dir, "tokens.csv"), []byte(users), 0o600); err != nil {
		return fmt.Errorf("write tokens: %w", err)
	}
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return fmt.Errorf("create service account key: %w", err)
	}
	der, err := x509.MarshalECPrivateKey(key)
	if err != nil {
		return fmt.Errorf("create service account key: %w", err)
	}
	block := pem.EncodeToMemory(&pem.Block{Type: "EC PRIVATE KEY", Bytes: der})
	if err := os.WriteFile(filepath.Join(dir, "sa.key"), block, 0o600); err != nil {
		return fmt.Errorf("write service account key: %w", err)
	}
	return nil
}
