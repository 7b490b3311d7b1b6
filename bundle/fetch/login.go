package fetch

import (
	"crypto/tls"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"strings"

	"airgap.dev/airgap/bundle/rpm"
	"airgap.dev/airgap/internal/httpclient"
)

// Login is what a server wants to see before it gives what lies below a URL.
type Login struct {
	Below string // upstream's URL; a rewrite does not change it
	rpm.Login
}

// login is a Login whose files were read.
type login struct {
	below          string
	user, password string
	client         *http.Client
}

// Use reads the files and variables that a login refers to. Nobody is asked
// yet.
func (c *Client) Use(logins ...Login) error {
	for _, l := range logins {
		made, err := c.login(l)
		if err != nil {
			return fmt.Errorf("prepare the login at %s: %w", Presentable(l.Below), err)
		}
		c.logins = append(c.logins, made)
	}
	return nil
}

// useMirrors reads those of the mirrors that sources names.
func (c *Client) useMirrors() error {
	for i, r := range c.sources.Rewrite {
		if r.Login == (rpm.Login{}) {
			continue
		}
		made, err := c.login(Login{Login: r.Login})
		if err != nil {
			return fmt.Errorf("prepare the login at the mirror %s: %w", r.To, err)
		}
		c.mirrors[i] = made
	}
	return nil
}

// mirrorOf is the login of the mirror that stands for upstream's HOST/PATH; nil
// where there is none, or it has none. It goes by the rule that sends us there:
// who is asked by another rule is not shown it.
func (c *Client) mirrorOf(upstream string) *login {
	if i, found := c.sources.rule(upstream); found {
		return c.mirrors[i]
	}
	return nil
}

func (c *Client) login(l Login) (*login, error) {
	made := &login{below: strings.TrimSuffix(l.Below, "/") + "/", user: l.Username, client: httpclient.New(c.base)}
	if l.ClientCert != "" {
		key := l.ClientKey
		if key == "" {
			key = l.ClientCert // one file with both
		}
		pair, err := tls.LoadX509KeyPair(l.ClientCert, key)
		if err != nil {
			return nil, err
		}
		made.client = httpclient.New(httpclient.Stay(c.transport(pair)))
	}
	switch {
	case l.PasswordFile != "":
		text, err := os.ReadFile(l.PasswordFile)
		if err != nil {
			return nil, err
		}
		made.password = strings.TrimRight(string(text), "\r\n")
	case l.PasswordEnv != "":
		var set bool
		if made.password, set = os.LookupEnv(l.PasswordEnv); !set {
			return nil, fmt.Errorf("the variable %s is not set", l.PasswordEnv)
		}
	}
	return made, nil
}

// loginFor is the login of the longest URL above url, else of the mirror that
// stands for it, or nobody's. A path that climbs is below nothing.
func (c *Client) loginFor(upstream string) *login {
	best := &login{client: httpclient.New(c.base)}
	u, err := url.Parse(upstream)
	if err != nil || strings.Contains(u.Path, "/../") {
		return best
	}
	for _, l := range c.logins {
		if strings.HasPrefix(upstream, l.below) && len(l.below) > len(best.below) {
			best = l
		}
	}
	if best.below != "" {
		return best
	}
	if m := c.mirrorOf(u.Host + u.EscapedPath()); m != nil {
		return m
	}
	return best
}
