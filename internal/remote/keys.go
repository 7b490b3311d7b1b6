package remote

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"slices"
	"sync"
	"time"

	"golang.org/x/crypto/ssh"
	"golang.org/x/crypto/ssh/agent"

	"airgap.dev/airgap/internal/host"
)

// Keys are the private keys there are: those of an agent, those in files.
// Files are read once; an encrypted one is offered by its public half, and its
// passphrase is only wanted when a host would take it.
type Keys struct {
	Socket   string   // of the agent; "" for none
	Defaults []string // files to try when a host names none; missing ones are fine

	mu     sync.Mutex
	files  map[string]*fileKey
	silent time.Time // when the agent did not answer in time; it is not asked again before agentAgain
}

// fileKey is a key from a file. An encrypted one has no signer until Unlock.
type fileKey struct {
	file   string
	public ssh.PublicKey
	signer ssh.Signer
	text   []byte // of an encrypted one
	unfit  bool   // skipped: the passphrase is unknown
}

// read returns the key in file.
func (k *Keys) read(file string) (*fileKey, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if known := k.files[file]; known != nil {
		return known, nil
	}
	text, err := host.ReadPrivate(file)
	if err != nil {
		return nil, fmt.Errorf("read the private key %s: %w", file, err)
	}
	key := &fileKey{file: file}
	key.signer, err = ssh.ParsePrivateKey(text)
	if missing, is := errors.AsType[*ssh.PassphraseMissingError](err); is && missing.PublicKey != nil {
		key.public, key.text, err = missing.PublicKey, text, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read the private key %s: %w", file, err)
	}
	if key.signer != nil {
		key.public = key.signer.PublicKey()
	}
	if k.files == nil {
		k.files = map[string]*fileKey{}
	}
	k.files[file] = key
	return key, nil
}

// Unlock decrypts the key in file.
func (k *Keys) Unlock(file, passphrase string) error {
	key, err := k.read(file)
	if err != nil {
		return err
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	if key.signer != nil {
		return nil
	}
	signer, err := ssh.ParsePrivateKeyWithPassphrase(key.text, []byte(passphrase))
	if err != nil {
		return fmt.Errorf("unlock the private key %s: %w", file, err)
	}
	key.signer = signer
	return nil
}

// GiveUp leaves the encrypted key in file alone from now on.
func (k *Keys) GiveUp(file string) {
	key, err := k.read(file)
	if err != nil {
		return
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	key.unfit = true
}

// Settled reports whether the key in file is unlocked, or given up on.
func (k *Keys) Settled(file string) bool {
	key, err := k.read(file)
	if err != nil {
		return false
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	return key.signer != nil || key.unfit
}

// offered is a key for one login. It remembers when it was wanted and could
// not sign.
type offered struct {
	ssh.Signer // nil when locked
	public     ssh.PublicKey
	name       string // for people: its file, or "agent"
	locked     func() // called if the passphrase is missing
	unsigned   func() // called if the agent did not sign; nil without an agent
}

func (o *offered) PublicKey() ssh.PublicKey { return o.public }

func (o *offered) Sign(rand io.Reader, data []byte) (*ssh.Signature, error) {
	return o.SignWithAlgorithm(rand, data, "")
}

// SignWithAlgorithm lets RSA keys sign with SHA-2.
func (o *offered) SignWithAlgorithm(rand io.Reader, data []byte, algorithm string) (*ssh.Signature, error) {
	if o.Signer == nil {
		o.locked()
		return nil, errors.New("the key is encrypted")
	}
	signature, err := o.sign(rand, data, algorithm)
	if err != nil && o.unsigned != nil {
		o.unsigned()
	}
	return signature, err
}

func (o *offered) sign(rand io.Reader, data []byte, algorithm string) (*ssh.Signature, error) {
	if s, can := o.Signer.(ssh.AlgorithmSigner); can {
		return s.SignWithAlgorithm(rand, data, algorithm)
	}
	return o.Signer.Sign(rand, data)
}

func (o *offered) String() string { return o.name + " (" + ssh.FingerprintSHA256(o.public) + ")" }

// offer lists the keys to try on a host: the key in its configuration, else all. The
// agent replaces a file if it has the same key; end closes its connection.
func (k *Keys) offer(ctx context.Context, a *attempt) (all []*offered, end func(), err error) {
	held, end := k.agent(ctx, a)
	files := k.Defaults
	if a.host.IdentityFile != "" {
		files = []string{a.host.IdentityFile}
	} else {
		for _, s := range held {
			all = append(all, &offered{Signer: s, public: s.PublicKey(), name: "a key of the agent", unsigned: a.notSigned(k.Socket)})
		}
	}
	for _, file := range files {
		key, err := k.read(file)
		switch {
		case err != nil && a.host.IdentityFile != "":
			end()
			return nil, nil, err
		case errors.Is(err, fs.ErrNotExist):
		case err != nil:
			a.offering = append(a.offering, err.Error())
		case !key.unfit && !slices.ContainsFunc(all, func(o *offered) bool { return same(o.public, key.public) }):
			all = append(all, k.from(key, held, a))
		}
	}
	return all, end, nil
}

func (k *Keys) from(key *fileKey, held []ssh.Signer, a *attempt) *offered {
	k.mu.Lock()
	defer k.mu.Unlock()
	o := &offered{Signer: key.signer, public: key.public, name: key.file, locked: func() { a.locked = key.file }}
	if i := slices.IndexFunc(held, func(s ssh.Signer) bool { return same(s.PublicKey(), key.public) }); o.Signer == nil && i >= 0 {
		o.Signer, o.unsigned = held[i], a.notSigned(k.Socket)
	}
	return o
}

func same(a, b ssh.PublicKey) bool { return string(a.Marshal()) == string(b.Marshal()) }

// agentLimit is for the list of keys, which an agent has in memory. A signature may take as long as the login: the user
// of the agent may have to confirm it.
const agentLimit = 5 * time.Second

// agentAgain is the pause after an agent did not answer: its user may have a slow hardware key, or unlock the agent late.
// Then one login asks it again.
const agentAgain = time.Minute

// asksAgent reports whether a login may ask the agent now.
func (k *Keys) asksAgent() bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.silent.IsZero() {
		return true
	}
	if time.Since(k.silent) < agentAgain {
		return false
	}
	k.silent = time.Now() // the others wait for the answer to this login
	return true
}

// answered records whether the agent has answered.
func (k *Keys) answered(is bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.silent = (time.Time{}); !is {
		k.silent = time.Now()
	}
}

// agent returns the keys in the agent. An agent that does not answer has none: its socket may be old, or belong to a
// session that hangs. Its connection ends with ctx.
func (k *Keys) agent(ctx context.Context, a *attempt) (held []ssh.Signer, end func()) {
	if k.Socket == "" {
		return nil, func() {}
	}
	if !k.asksAgent() {
		a.useless("it did not answer before", k.Socket)
		return nil, func() {}
	}
	listing, listed := context.WithTimeout(ctx, agentLimit)
	defer listed()
	conn, err := new(net.Dialer).DialContext(listing, "unix", k.Socket)
	if err != nil {
		a.useless(err, k.Socket)
		return nil, func() {}
	}
	inTime := context.AfterFunc(listing, func() { conn.Close() })
	held, err = agent.NewClient(conn).Signers()
	inTime()
	if err != nil {
		conn.Close()
		if listing.Err() != nil {
			err = fmt.Errorf("no answer within %s", agentLimit)
			if ctx.Err() == nil {
				k.answered(false)
			}
		}
		a.useless(err, k.Socket)
		return nil, func() {}
	}
	k.answered(true)
	stop := context.AfterFunc(ctx, func() { conn.Close() }) // also during a signature
	return held, func() { stop(); conn.Close() }
}

func (a *attempt) notSigned(socket string) func() { return func() { a.unsigned = socket } }

// useless adds an agent without keys to the keys of the error.
func (a *attempt) useless(why any, socket string) {
	a.offering = append(a.offering, fmt.Sprintf("the agent at %s (%v)", socket, why))
}

// DefaultKeys are the files that OpenSSH tries in a home directory.
func DefaultKeys(home string) []string {
	var files []string
	for _, name := range []string{"id_ed25519", "id_ecdsa", "id_rsa"} {
		files = append(files, home+"/.ssh/"+name)
	}
	return files
}
