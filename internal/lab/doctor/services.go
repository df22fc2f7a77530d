package doctor

import "github.com/campaignd/campaignd/internal/lab/stocks"

// Services are the services requested by a lab file, and their state where it is served.
type Services struct {
	// LabFile is the fault of lab.yaml, nil if it is valid or missing. With a fault the other
	// fields are unknown.
	LabFile error
	// NoPasskeys and NoOIDC are the reasons why people cannot log in with passkeys, and with OpenID
	// Connect though lab.yaml names it; nil if they can.
	NoPasskeys, NoOIDC error
	// Shared are the stocks and places that it declares.
	Shared stocks.Declared
	// NoRelay is why nothing is sent to people and brokers, though lab.yaml names some.
	NoRelay error
}

// known is a rule that requires a readable lab file: without it nothing is safe.
func known(judge func(Services) Finding) func(Services) Finding {
	return func(s Services) Finding {
		if s.LabFile != nil {
			return unknown("lab.yaml says it, and cannot be read", "mend lab.yaml first")
		}
		return judge(s)
	}
}

var serviceRules = []rule[Services]{
	{"lab.yaml", func(s Services) Finding {
		if s.LabFile != nil {
			return unsafe(s.LabFile.Error(), "mend it: a server does not start with it")
		}
		return safe("it is sound, or there is none")
	}},
	{"passkeys", known(func(s Services) Finding {
		if s.NoPasskeys != nil {
			return safe("they are off, and people log in with passwords: " + s.NoPasskeys.Error())
		}
		return safe("people can log in with them")
	})},
	{"OpenID Connect", known(func(s Services) Finding {
		if s.NoOIDC != nil {
			return safe("logins with it are off here: " + s.NoOIDC.Error())
		}
		return safe("lab.yaml does not name it, or people can log in with it if the issuer answers")
	})},
	{"messages and brokers", known(func(s Services) Finding {
		if s.NoRelay != nil {
			return unsafe("nothing is sent to the people and brokers of lab.yaml", s.NoRelay.Error())
		}
		return safe("lab.yaml names none, or campaignd-forward is there to send to them")
	})},
}
