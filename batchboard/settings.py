"""One settings file; everything that differs between installations comes from the environment."""

from pathlib import Path

import environ
from csp.constants import NONE, SELF
from django.core.exceptions import ImproperlyConfigured

from batchboard.runtime import Running, broker_socket, data_dir, secret_key

BASE_DIR = Path(__file__).resolve().parent.parent
env = environ.Env()

# Where things are
DATA_DIR = data_dir(BASE_DIR)
# Prompts, answers and the signing key lie there: for nobody but its owner to read.
try:
    DATA_DIR.mkdir(mode=0o700, parents=True, exist_ok=True)
except OSError as error:
    raise ImproperlyConfigured(
        f"BATCHBOARD_DATA_DIR: the folder {DATA_DIR} cannot be made: {error.strerror}."
    ) from error
RUNNING = Running.load(DATA_DIR)

# The provider
ANTHROPIC_API_KEY: str | None = env.str("ANTHROPIC_API_KEY", default=None)
ANTHROPIC_BASE_URL: str | None = env.str("ANTHROPIC_BASE_URL", default=None)
PROVIDER_SIMULATED = False
if not ANTHROPIC_API_KEY and not ANTHROPIC_BASE_URL and RUNNING:
    ANTHROPIC_BASE_URL = RUNNING.provider_url
    PROVIDER_SIMULATED = RUNNING.simulated
if env.bool("BATCHBOARD_SIMULATED", default=False):
    PROVIDER_SIMULATED = True

# Limits: what holds until somebody stores another value at run time. They are texts here, and read
# by `Limits`, so that `batchboard.checks` can say what is wrong with one.
DISPATCH_CONCURRENCY: str = env.str("DISPATCH_CONCURRENCY", default="20")
DISPATCH_RPM: str = env.str("DISPATCH_RPM", default="1000")
DISPATCH_ITPM: str = env.str("DISPATCH_ITPM", default="2000000")
DISPATCH_OTPM: str = env.str("DISPATCH_OTPM", default="400000")
DISPATCH_HEADROOM: str = env.str("DISPATCH_HEADROOM", default="0.8")
DISPATCH_BUDGET_USD: str | None = env.str("DISPATCH_BUDGET_USD", default=None)
DISPATCH_BUDGET_PERIOD: str = env.str("DISPATCH_BUDGET_PERIOD", default="month")
STARTER_MAY_APPROVE: bool = env.bool("BATCHBOARD_STARTER_MAY_APPROVE", default=True)

# Where items of recurring batches may come from: a file that names commands
ITEM_COMMANDS: str = env.str("BATCHBOARD_COMMANDS", default="")

# Django
SECRET_KEY: str = env.str("SECRET_KEY", default="") or secret_key(DATA_DIR)
DEBUG: bool = env.bool("DEBUG", default=False)
ALLOWED_HOSTS: list[str] = env.list("ALLOWED_HOSTS", default=["localhost", "127.0.0.1", "[::1]"])
CSRF_TRUSTED_ORIGINS: list[str] = env.list("CSRF_TRUSTED_ORIGINS", default=[])
ROOT_URLCONF = "batchboard.urls"
ASGI_APPLICATION = "batchboard.asgi.application"
AUTH_USER_MODEL = "batchboard.User"
LOGIN_URL = "sign-in"
LOGIN_REDIRECT_URL = "board"
LOGOUT_REDIRECT_URL = "sign-in"
DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"
USE_TZ = True
TIME_ZONE = "UTC"
LANGUAGE_CODE = "en"
USE_I18N = False
DATA_UPLOAD_MAX_MEMORY_SIZE = 10_000_000

INSTALLED_APPS = [
    "batchboard.apps.BatchboardConfig",
    "dispatch.apps.DispatchConfig",
    "django.contrib.auth",
    "django.contrib.contenttypes",
    "django.contrib.sessions",
    "django.contrib.messages",
    "servestatic.runserver_nostatic",
    "django.contrib.staticfiles",
    "django_htmx",
    "csp",
]
MIDDLEWARE = [
    "django.middleware.security.SecurityMiddleware",
    "servestatic.middleware.ServeStaticMiddleware",
    "batchboard.middleware.CompressionMiddleware",
    "csp.middleware.CSPMiddleware",
    "django.contrib.sessions.middleware.SessionMiddleware",
    "django.middleware.common.CommonMiddleware",
    "django.middleware.csrf.CsrfViewMiddleware",
    "django.contrib.auth.middleware.AuthenticationMiddleware",
    "batchboard.middleware.SignInRequiredMiddleware",
    "django.contrib.messages.middleware.MessageMiddleware",
    "django.middleware.clickjacking.XFrameOptionsMiddleware",
    "batchboard.middleware.RefusalMiddleware",
]
TEMPLATES = [
    {
        "BACKEND": "django.template.backends.django.DjangoTemplates",
        "DIRS": [BASE_DIR / "templates"],
        "APP_DIRS": True,
        "OPTIONS": {
            "context_processors": [
                "django.template.context_processors.request",
                "django.contrib.auth.context_processors.auth",
                "django.contrib.messages.context_processors.messages",
                "batchboard.context.installation",
            ],
        },
    }
]
AUTH_PASSWORD_VALIDATORS = [
    {"NAME": f"django.contrib.auth.password_validation.{name}"}
    for name in (
        "UserAttributeSimilarityValidator",
        "MinimumLengthValidator",
        "CommonPasswordValidator",
    )
]

# Database
DATABASE_URL: str = env.str("DATABASE_URL", default=f"sqlite:///{DATA_DIR / 'batchboard.sqlite3'}")
if not DATABASE_URL.startswith(("sqlite:", "postgres:", "postgresql:")):
    # What was given is not shown: a password may stand in it.
    raise ImproperlyConfigured(
        "DATABASE_URL is no address of a database: write postgres://name:password@host/database."
    )
DATABASES = {"default": env.db_url_config(DATABASE_URL)}
if DATABASES["default"]["ENGINE"].endswith("sqlite3"):
    # WAL lets readers go on while one process writes; IMMEDIATE takes the write lock at BEGIN,
    # where waiting works, and not at the first write, where SQLite can only fail.
    # NORMAL keeps every commit through a crash of a process; only a power cut can lose the last.
    DATABASES["default"]["OPTIONS"] = {
        "transaction_mode": "IMMEDIATE",
        "timeout": 20,
        "init_command": (
            "PRAGMA journal_mode=WAL; PRAGMA synchronous=NORMAL; PRAGMA temp_store=MEMORY;"
            "PRAGMA cache_size=-65536; PRAGMA journal_size_limit=67108864;"
        ),
    }
else:
    DATABASES["default"].setdefault("OPTIONS", {}).update(
        pool={"min_size": 1, "max_size": env.int("DATABASE_POOL", default=10), "timeout": 10},
        # A process that stands still in the middle of a decision must not hold up all others.
        options="-c idle_in_transaction_session_timeout=10s",
        # Nor may a process wait for minutes for a server that it cannot reach any more.
        keepalives_idle=10,
        keepalives_interval=5,
        keepalives_count=3,
        tcp_user_timeout=20_000,
    )

# Redis carries messages; what it forgets is rebuilt from the database.
REDIS_URL: str = env.str("REDIS_URL", default=f"unix://{broker_socket(DATA_DIR)}")

# Static files
STATIC_URL = "static/"
STATICFILES_DIRS = [BASE_DIR / "static"]
STATIC_ROOT = DATA_DIR / "static"
STORAGES = {
    "default": {"BACKEND": "django.core.files.storage.FileSystemStorage"},
    "staticfiles": {"BACKEND": "servestatic.storage.CompressedManifestStaticFilesStorage"},
}

# Safety of the pages
CONTENT_SECURITY_POLICY = {
    "DIRECTIVES": {
        "default-src": [NONE],
        "script-src": [SELF],
        "style-src": [SELF],
        "img-src": [SELF],
        "font-src": [SELF],
        "connect-src": [SELF],
        "form-action": [SELF],
        "base-uri": [NONE],
        "frame-ancestors": [NONE],
    }
}
X_FRAME_OPTIONS = "DENY"
SECURE_REFERRER_POLICY = "same-origin"
SESSION_COOKIE_HTTPONLY = True
SESSION_COOKIE_SECURE = CSRF_COOKIE_SECURE = env.bool("HTTPS", default=False)

LOGGING = {
    "version": 1,
    "disable_existing_loggers": False,
    "formatters": {"line": {"format": "%(asctime)s %(levelname)s %(name)s %(message)s"}},
    "handlers": {"console": {"class": "logging.StreamHandler", "formatter": "line"}},
    "root": {"handlers": ["console"], "level": env.str("LOG_LEVEL", default="INFO")},
    "loggers": {
        "httpx2": {"level": "WARNING"},
        "anthropic": {"level": "WARNING"},
        "celery.app.trace": {"level": "WARNING"},
        "celery.worker.strategy": {"level": "WARNING"},
        "celery.beat": {"level": "WARNING"},
    },
}
