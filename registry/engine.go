package registry

import (
	"context"
	"errors"
	"io"
	"net/http"
	"sync"

	"github.com/distribution/distribution/v3/configuration"
	"github.com/distribution/distribution/v3/registry/handlers"
	storagedriver "github.com/distribution/distribution/v3/registry/storage/driver"
	"github.com/distribution/distribution/v3/registry/storage/driver/factory"
	"github.com/sirupsen/logrus"
)

// newEngine is the distribution registry over the storage. It opens no port and,
// made this way, starts no telemetry: only the engine's own main does.
func newEngine(ctx context.Context, s storage) http.Handler {
	enterProcess()
	c := &configuration.Configuration{
		Storage: configuration.Storage{
			driverName: {storageParameter: s.StorageDriver},
			"redirect": {"disable": true},
			"delete":   {"enabled": s.writable},
			"maintenance": {
				"readonly":      map[any]any{"enabled": !s.writable},
				"uploadpurging": map[any]any{"enabled": s.writable, "age": "48h", "interval": "24h", "dryrun": false},
			},
		},
		Catalog: configuration.Catalog{MaxEntries: 1000},
	}
	c.HTTP.RelativeURLs = true // what a client is told fits whatever name it used for this host
	return handlers.NewApp(ctx, c)
}

// enterProcess does what the engine keeps once a process: its drivers are
// found by name, and it logs to logrus' standard logger. Its log is switched
// off, since our access log has every request and fileLog every failed read.
//
//nolint:gochecknoglobals // the engine's registry of drivers is a global itself
var enterProcess = sync.OnceFunc(func() {
	factory.Register(driverName, driverFactory{})
	logrus.SetOutput(io.Discard)
	logrus.SetLevel(logrus.PanicLevel)
})

// storageParameter carries the storage through the engine's configuration.
const storageParameter = "storage"

type driverFactory struct{}

func (driverFactory) Create(_ context.Context, parameters map[string]any) (storagedriver.StorageDriver, error) {
	s, ok := parameters[storageParameter].(storagedriver.StorageDriver)
	if !ok {
		return nil, errors.New("create storage driver: none among the parameters")
	}
	return s, nil
}
