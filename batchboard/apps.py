from django.apps import AppConfig


class BatchboardConfig(AppConfig):
    name = "batchboard"
    verbose_name = "Batchboard"
    default_auto_field = "django.db.models.BigAutoField"
