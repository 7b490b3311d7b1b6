package chart

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"text/template"
)

// quick returns replacements for slow functions of Sprig, which compute keys and hashes. A
// trial only checks whether a value is generated.
func quick() template.FuncMap {
	pair := func(...any) (map[string]string, error) {
		return map[string]string{"Cert": rand.Text(), "Key": rand.Text()}, nil
	}
	text := func(...any) string { return rand.Text() }
	return template.FuncMap{
		"genCA": pair, "genCAWithKey": pair, "genSelfSignedCert": pair, "genSelfSignedCertWithKey": pair,
		"genSignedCert": pair, "genSignedCertWithKey": pair,
		"genPrivateKey": text, "bcrypt": text, "htpasswd": text,
		"derivePassword": func(from ...any) string {
			sum := sha256.Sum256(fmt.Append(nil, from...))
			return hex.EncodeToString(sum[:8])
		},
		"buildCustomCert": func(cert, key string) (map[string]string, error) {
			return map[string]string{"Cert": decoded(cert), "Key": decoded(key)}, nil
		},
	}
}

// decoded decodes base64. It returns other text unchanged, because the values of a trial need
// not be base64.
func decoded(text string) string {
	plain, err := base64.StdEncoding.DecodeString(text)
	if err != nil {
		return text
	}
	return string(plain)
}
