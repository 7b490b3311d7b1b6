package bundle

import "encoding/json"

// Inputs is the SHA-256 of everything that decides the bytes of the bundle except its
// time: the lock, airgap.yaml, and the program. It does not depend on the base of a delta.
func (p *Plan) Inputs() (string, error) {
	text, err := json.Marshal([]any{p.Lock, p.Config, p.Tool})
	if err != nil {
		return "", err
	}
	return sha256Hex(text), nil
}
