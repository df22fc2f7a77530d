package app

import (
	"crypto/tls"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"sync"
	"time"

	"golang.org/x/crypto/acme/autocert"

	"github.com/campaignd/campaignd/internal/files/labfile"
	"github.com/campaignd/campaignd/internal/lab"
	"github.com/campaignd/campaignd/internal/lab/accounts"
)

// tls is the server's TLS configuration: certificates by ACME for its domains,
// or the pair of files of the command line. The pair is loaded once here, so
// that a bad one ends the start and not the first connection.
//
// ACME answers its challenges within TLS (tls-alpn-01), on the same port, so no
// second listener is needed.
func (s serving) tls() (*tls.Config, error) {
	if len(s.domains) > 0 {
		manager := &autocert.Manager{
			Prompt:     autocert.AcceptTOS,
			HostPolicy: autocert.HostWhitelist(s.domains...),
			Cache:      autocert.DirCache(filepath.Join(s.folder, lab.Private, "acme")),
		}
		config := manager.TLSConfig()
		config.MinVersion = tls.VersionTLS12
		return config, nil
	}
	pair := &keyPair{cert: s.cert, key: s.key}
	if _, err := pair.get(nil); err != nil {
		return nil, badInput("the certificate cannot be used: %w", err)
	}
	return &tls.Config{
		MinVersion:     tls.VersionTLS12,
		GetCertificate: pair.get,
		NextProtos:     []string{"h2", "http/1.1"},
	}, nil
}

// keyPair is a certificate in two files, which are read again when the certificate's file changes:
// certificates are renewed while the server runs.
//
// While only one file of a pair has been replaced, the pair does not load, and the old one serves
// on.
type keyPair struct {
	cert, key string

	mu   sync.Mutex
	read time.Time // when the file that pair was read from was modified
	pair *tls.Certificate
}

// get implements tls.Config.GetCertificate. It may be called from any number of
// handshakes at once.
func (p *keyPair) get(*tls.ClientHelloInfo) (*tls.Certificate, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	info, err := os.Stat(p.cert)
	if err == nil && p.pair != nil && info.ModTime().Equal(p.read) {
		return p.pair, nil
	}
	if err == nil {
		var pair tls.Certificate
		if pair, err = tls.LoadX509KeyPair(p.cert, p.key); err == nil {
			p.pair, p.read = &pair, info.ModTime()
		}
	}
	if p.pair != nil {
		return p.pair, nil // the one that is being replaced serves until the new one is whole
	}
	return nil, err
}

// accountOptions are the settings of passkeys and OpenID Connect, from the lab
// file and, where it names no URL, from the address that the server listens at.
//
// The site's address has to be right, since browsers bind passkeys to it and
// issuers redirect to it alone.
func (s serving) accountOptions(named *labfile.File) accounts.Options {
	var o accounts.Options
	site, err := url.Parse(named.URL)
	if err != nil || named.URL == "" {
		// Browsers make passkeys for this machine too, under its name.
		_, port, _ := net.SplitHostPort(s.address)
		site = &url.URL{Scheme: "http", Host: net.JoinHostPort("localhost", port)}
	}
	o.Passkeys = &accounts.Passkeys{
		ID:      site.Hostname(),
		Name:    named.Title,
		Origins: []string{site.Scheme + "://" + site.Host},
	}
	if p := named.Passkeys; p != nil {
		if p.Domain != "" {
			o.Passkeys.ID = p.Domain
		}
		if p.Name != "" {
			o.Passkeys.Name = p.Name
		}
		if len(p.Origins) > 0 {
			o.Passkeys.Origins = p.Origins
		}
	}
	if p := named.OIDC; p != nil {
		o.OIDC = &accounts.OIDC{
			Issuer:           p.Issuer,
			ClientID:         p.ClientID,
			ClientSecretFile: p.ClientSecretFile,
			ClientSecretEnv:  p.ClientSecretEnv,
			RedirectURL:      site.JoinPath("/oidc/callback").String(),
			Scopes:           p.Scopes,
			RoleClaim:        p.Claim,
			Roles:            make(map[string]accounts.Role),
			NewAccounts:      true,
		}
		if p.ClientSecretFile != "" && !filepath.IsAbs(p.ClientSecretFile) {
			o.OIDC.ClientSecretFile = filepath.Join(s.folder, p.ClientSecretFile)
		}
		for value, role := range p.Roles {
			o.OIDC.Roles[value] = accounts.Role(role)
		}
	}
	return o
}
