package chart

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"text/template"
)

// quick are functions that stand for those of Sprig that compute keys and hashes, which take
// long. A trial only asks whether a value is generated.
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

// decoded is base64 or, since a trial's values are not made for this, the text itself.
func decoded(text string) string {
	plain, err := base64.StdEncoding.DecodeString(text)
	if err != nil {
		return text
	}
	return string(plain)
}
