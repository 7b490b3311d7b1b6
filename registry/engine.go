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

// newEngine returns the distribution registry on the storage. It opens no port and starts no
// telemetry: only the engine's own main program does.
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
	if s.sparse {
		c.Validation.Manifests.Indexes.Platforms = "none"
	}
	c.HTTP.RelativeURLs = true                         // a relative URL works with any name of this host
	c.Validation.Manifests.URLs.Allow = []string{".*"} // checkManifest refuses layers outside the registry
	return handlers.NewApp(ctx, c)
}

// enterProcess sets the engine's global state once: it registers the driver by name and switches the
// engine's log off. accessLog logs all requests, and fileLog logs all failed reads.
//
//nolint:gochecknoglobals // the engine's list of drivers is global
var enterProcess = sync.OnceFunc(func() {
	factory.Register(driverName, driverFactory{})
	logrus.SetOutput(io.Discard)
	logrus.SetLevel(logrus.PanicLevel)
})

// storageParameter is the key of the storage in the engine's configuration.
const storageParameter = "storage"

type driverFactory struct{}

func (driverFactory) Create(_ context.Context, parameters map[string]any) (storagedriver.StorageDriver, error) {
	s, ok := parameters[storageParameter].(storagedriver.StorageDriver)
	if !ok {
		return nil, errors.New("create storage driver: the parameter storage is missing")
	}
	return s, nil
}
