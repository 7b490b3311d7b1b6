package fetch

import (
	"crypto/tls"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"strings"

	"airgap.dev/airgap/bundle/rpm"
	"airgap.dev/airgap/internal/host"
	"airgap.dev/airgap/internal/httpclient"
)

// Login is the login for all URLs below one URL.
type Login struct {
	Below string // upstream URL; a rewrite does not change it
	rpm.Login
}

// login is a Login after its files were read.
type login struct {
	below          string
	user, password string
	client         *http.Client
}

// Use reads the files and variables of the logins. It connects to no server.
func (c *Client) Use(logins ...Login) error {
	for _, l := range logins {
		made, err := c.login(l)
		if err != nil {
			return fmt.Errorf("prepare login at %s: %w", Presentable(l.Below), err)
		}
		c.logins = append(c.logins, made)
	}
	return nil
}

// useMirrors reads the logins of the mirrors in sources.
func (c *Client) useMirrors() error {
	for i, r := range c.sources.Rewrite {
		if r.Login == (rpm.Login{}) {
			continue
		}
		made, err := c.login(Login{Login: r.Login})
		if err != nil {
			return fmt.Errorf("prepare login at mirror %s: %w", r.To, err)
		}
		c.mirrors[i] = made
	}
	return nil
}

// mirrorOf returns the login of the mirror for upstream's HOST/PATH; nil without a
// mirror or a login. Only the rule that rewrites HOST/PATH counts, so that a login is
// not sent to the server of another rule.
func (c *Client) mirrorOf(upstream string) *login {
	if i, found := c.sources.rule(upstream); found {
		return c.mirrors[i]
	}
	return nil
}

func (c *Client) login(l Login) (*login, error) {
	made := &login{below: lowerHost(strings.TrimSuffix(l.Below, "/") + "/"), user: l.Username, client: httpclient.New(c.base)}
	if l.ClientCert != "" {
		key := l.ClientKey
		if key == "" {
			key = l.ClientCert // one file with both
		}
		pair, err := tls.LoadX509KeyPair(l.ClientCert, key)
		if err != nil {
			return nil, err
		}
		made.client = httpclient.New(httpclient.Split(c.transport(pair), c.base))
	}
	switch {
	case l.PasswordFile != "":
		text, err := host.ReadInput(l.PasswordFile, host.MaxInput)
		if err != nil {
			return nil, err
		}
		made.password = strings.TrimRight(string(text), "\r\n")
	case l.PasswordEnv != "":
		var set bool
		if made.password, set = os.LookupEnv(l.PasswordEnv); !set {
			return nil, fmt.Errorf("variable %s is not set", l.PasswordEnv)
		}
	}
	return made, nil
}

// loginFor returns the login with the longest URL above upstream, else the login of its
// mirror, else an empty login. A path with /../ matches no login.
func (c *Client) loginFor(upstream string) *login {
	best := &login{client: httpclient.New(c.base)}
	u, err := url.Parse(upstream)
	if err != nil || strings.Contains(u.Path, "/../") {
		return best
	}
	asked := lowerHost(upstream)
	for _, l := range c.logins {
		if strings.HasPrefix(asked, l.below) && len(l.below) > len(best.below) {
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

// lowerHost writes the scheme and the host of a URL in lower case.
func lowerHost(of string) string {
	scheme, rest, has := strings.Cut(of, "://")
	if !has {
		return of
	}
	host, path, slash := strings.Cut(rest, "/")
	if slash {
		path = "/" + path
	}
	return strings.ToLower(scheme+"://"+host) + path
}
