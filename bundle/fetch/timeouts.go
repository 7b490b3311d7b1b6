package fetch

import (
	"cmp"
	"time"

	"k8s.io/apimachinery/pkg/util/validation/field"
)

// Timeouts is sources.timeouts of airgap.yaml. They are texts such as 90s, "" for the default.
type Timeouts struct {
	Answer     string `yaml:"answer" json:"answer,omitempty" jsonschema:"example=5m" jsonschema_description:"Time until an answer begins: for manifests, metadata, indexes and checksums. Default: 2m."`
	Content    string `yaml:"content" json:"content,omitempty" jsonschema:"example=30m" jsonschema_description:"Time until the content of a layer, package, driver or other file begins. A scanning proxy reads the whole file first. Default: 10m."`
	Stall      string `yaml:"stall" json:"stall,omitempty" jsonschema:"example=5m" jsonschema_description:"Time without a byte within a transfer, after which airgap continues it with a new connection. Default: 1m."`
	RetryAfter string `yaml:"retryAfter" json:"retryAfter,omitempty" jsonschema:"example=30m" jsonschema_description:"Longest wait that a server may demand (Retry-After, with status 429 or 503). airgap ends if a server demands more. Default: 5m."`
}

// The default limits. Scanning proxies commonly hold the first byte for one minute.
const (
	defaultAnswer   = 2 * time.Minute
	defaultContent  = 10 * time.Minute
	defaultStall    = time.Minute
	defaultMaxPause = 5 * time.Minute
	longestTimeout  = 24 * time.Hour
)

// Validate reports every value that is no duration.
func (t Timeouts) Validate(at *field.Path) field.ErrorList {
	var all field.ErrorList
	for _, one := range []struct{ name, text string }{{"answer", t.Answer}, {"content", t.Content}, {"stall", t.Stall}, {"retryAfter", t.RetryAfter}} {
		if d, err := time.ParseDuration(one.text); one.text != "" && (err != nil || d < time.Second || d > longestTimeout) {
			all = append(all, field.Invalid(at.Child(one.name), one.text, "want a duration from 1s to 24h, such as 90s or 10m"))
		}
	}
	return all
}

// patience returns the limits, with the defaults. The values are valid.
func (t Timeouts) patience() Patience {
	of := func(text string, otherwise time.Duration) time.Duration {
		if d, err := time.ParseDuration(text); err == nil && d > 0 {
			return d
		}
		return otherwise
	}
	return Patience{
		Attempts: 5, Pause: 500 * time.Millisecond,
		Answer: of(t.Answer, defaultAnswer), Content: of(t.Content, defaultContent), Stall: of(t.Stall, defaultStall), MaxPause: of(t.RetryAfter, defaultMaxPause),
	}
}

// Patience limits the time and the retries of a client.
type Patience struct {
	Attempts int           // failed attempts in a row without a received byte
	Pause    time.Duration // pause after the first attempt; doubles each time
	Stall    time.Duration // time without a received byte that ends a connection
	Answer   time.Duration // time until an answer begins; 0: the default
	Content  time.Duration // the same for layers and files; 0: the default
	MaxPause time.Duration // longest pause that a server may demand; 0: the default
}

// answerTime limits the wait for manifests and metadata.
func (p Patience) answerTime() *silentError {
	return &silentError{cmp.Or(p.Answer, defaultAnswer), "answer"}
}

// contentTime limits the wait for layers and files.
func (p Patience) contentTime() *silentError {
	return &silentError{cmp.Or(p.Content, defaultContent), "content"}
}
